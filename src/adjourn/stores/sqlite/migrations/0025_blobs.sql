-- The bytes of files that records refer to, by the SHA-256 of them: each run has its own.
create table blob (
    run integer not null,
    digest text not null,
    body blob not null,
    primary key (run, digest)
);
