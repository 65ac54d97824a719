-- What workers say of themselves.
create table adjourn.roster (
    id text collate "C" primary key,
    body text collate "C" not null
);

-- Of the runs that are ready, those with a larger number are taken first.
alter table adjourn.run add column priority integer not null default 0;

create index run_urgent on adjourn.run (priority desc, ready_at, n) where ready_at is not null;
drop index adjourn.run_ready;
