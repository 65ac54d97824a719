-- States that were written down: caches, which may be deleted at any time.
create table snapshot (
    run integer primary key,
    seq integer not null,
    head blob not null,
    format integer not null,
    stretches text not null,
    rest blob not null
) strict;

create table segment (
    run integer not null,
    edition text not null,
    path text not null,
    k integer not null,
    body blob not null,
    primary key (run, edition, path, k)
) strict;
