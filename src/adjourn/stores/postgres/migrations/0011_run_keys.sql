-- A key for each run that is encrypted, wrapped by a key ring. Whoever deletes the row erases the run.
create table adjourn.run_key (
    run bigint primary key,
    kid text collate "C" not null unique,
    wrapped text not null
);
