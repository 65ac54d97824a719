-- Who may use the API and the console, for all servers of this database. Secrets are kept as hashes only.

create table adjourn.person (
    name text collate "C" primary key,
    role text collate "C" not null,
    groups text collate "C" not null,
    created_at float8 not null,
    grants text collate "C" not null,
    tenant text collate "C" not null
);

create table adjourn.person_key (
    n bigint generated always as identity primary key,
    hash text collate "C" not null unique,
    name text collate "C" not null,
    hint text collate "C" not null,
    created_at float8 not null,
    expires float8 not null
);

create index person_key_name on adjourn.person_key (name);

create table adjourn.person_session (
    hash text collate "C" primary key,
    name text collate "C" not null,
    until float8 not null,
    key text collate "C" not null,
    seen float8 not null
);

create index person_session_name on adjourn.person_session (name);
create index person_session_key on adjourn.person_session (key) where key <> '';
create index person_session_until on adjourn.person_session (until);

-- Raised with every change of a user or a key: servers remember both, and ask for this number with each request.
create table adjourn.person_version (
    one boolean primary key default true check (one),
    number bigint not null
);

insert into adjourn.person_version values (true, 1);
