create table audit (
    scope text not null,
    n integer not null,
    body text not null,
    head blob not null,
    primary key (scope, n)
) strict, without rowid;

create table audit_head (
    scope text primary key,
    n integer not null,
    head blob not null
) strict, without rowid;
