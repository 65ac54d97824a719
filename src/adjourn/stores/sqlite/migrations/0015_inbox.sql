-- What an inbox is filtered by is in its rows: no record is read that is not shown.
alter table interrupt add column type text not null default '';
alter table interrupt add column tool text not null default '';
alter table interrupt add column groups text not null default '';

update interrupt set type = kind, tool = iif(kind in ('approval', 'in_doubt'), coalesce((
    select iif(json_extract(body, '$.call') <> '', json_extract(body, '$.tool'), '') from journal where key = (interrupt.run << 32 | interrupt.seq)
), ''), ''), groups = coalesce((select json_extract(body, '$.groups') from journal where key = (interrupt.run << 32 | interrupt.seq)), '')
where kind not in ('question', 'event', 'timer');

update interrupt set type = coalesce((
    select json_extract(body, '$.type') from journal where key = (interrupt.run << 32 | interrupt.seq)
), 'question')
where kind in ('question', 'event', 'timer');

drop index interrupt_open;
create index interrupt_open on interrupt (rank, opened_at, run, seq, kind) where state = 'open' and kind not in ('timer', 'event');
