-- What workers say of themselves.
create table roster (
    id text primary key,
    body text not null
) strict;
-- Of the runs that are ready, those with a larger number are taken first.
alter table run add column priority integer not null default 0;
