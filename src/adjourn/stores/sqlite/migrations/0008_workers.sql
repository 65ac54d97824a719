create table worker (
    id text primary key,
    until real not null
) strict, without rowid;

insert into worker select worker, max(lease_until) from run where worker <> '' group by worker;
alter table run drop column lease_until;
create index run_worker on run (worker) where worker <> '';
