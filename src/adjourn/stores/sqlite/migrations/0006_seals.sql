create table meta (
    key text primary key,
    value text not null
) strict, without rowid;

insert into meta values ('store', lower(hex(randomblob(16))));

create table touched (
    scope text primary key,
    at real not null
) strict, without rowid;

insert into touched select scope, 0 from audit_head;

create table seal (
    k integer primary key,
    at real not null,
    prev blob not null,
    body text not null,
    hash blob not null,
    kid text not null,
    sig blob not null
) strict;
