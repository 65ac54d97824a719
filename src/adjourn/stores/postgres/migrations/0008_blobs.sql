-- The bytes of files that records refer to, by the SHA-256 of them: each run has its own.
create table adjourn.blob (
    run bigint not null,
    digest text not null,
    body bytea not null,
    primary key (run, digest)
);
alter table adjourn.blob alter column body set storage external;
