-- What was escalated is shown first: rank 0. Everything else is 1.
alter table interrupt add column rank integer not null default 1;

update interrupt set rank = 0 where kind = 'approval' and exists (
    select 1 from journal j where j.run = interrupt.run and j.seq = interrupt.seq and json_extract(j.body, '$.escalated')
);

drop index interrupt_open;
create index interrupt_open on interrupt (rank, opened_at, run, seq) where state = 'open';
