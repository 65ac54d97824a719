-- What other frameworks save: rows of bytes by key. A thread that belongs to a run goes with it.
create table adjourn.guest_thread (
    id text collate "C" primary key,
    run text collate "C" not null,
    also text[] collate "C" not null,
    version bigint not null,
    at float8 not null
);

create index guest_thread_run on adjourn.guest_thread (run) where run <> '';

create index guest_thread_at on adjourn.guest_thread (at);

create table adjourn.guest_row (
    thread text collate "C" not null,
    key text collate "C" not null,
    tag text collate "C" not null,
    body bytea not null,
    primary key (thread, key)
);

create index guest_row_tag on adjourn.guest_row (tag) where tag <> '';
