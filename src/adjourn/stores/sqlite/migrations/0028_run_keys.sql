-- A key for each run that is encrypted, wrapped by a key ring. Whoever deletes the row erases the run.
create table run_key (
    run integer primary key,
    kid text not null unique,
    wrapped text not null
) strict;
