-- What lists of runs ask for, each answered by an index that is walked in the order of the list.

-- The status that people see, except `running`, which depends on the time.
alter table run add column shown text generated always as (
    case when status = 'waiting' and opens > 0 and opens = errors then 'failed' when stopped then 'stopped' else status end
) virtual;

drop index run_status;
drop index run_program;
drop index run_session;
create index run_shown on run (shown, n);
create index run_program on run (program, shown, n);
create index run_session on run (session, shown, n) where session <> '';

-- When a run changed last. A step does not touch it: while a worker has a run, `run_worker` names it.
create index run_rested on run (updated_at) where worker = '';

create table label (
    key text not null,
    value text not null,
    run integer not null,
    primary key (key, value, run)
) strict, without rowid;

create trigger label_put after insert on run when new.labels <> '{}' begin
    insert into label select key, value, new.n from json_each(new.labels);
end;

create trigger label_change after update of labels on run when old.labels <> new.labels begin
    delete from label where (key, value, run) in (select key, value, old.n from json_each(old.labels));
    insert into label select key, value, new.n from json_each(new.labels);
end;

-- Runs are listed together, 256 at a time: the span of time in which they began, and the parts of their texts. Those after
-- the last zone are few, and are looked at one by one.
create table zone (
    last integer primary key,
    first integer not null,
    least real not null,
    most real not null
) strict;

create virtual table run_text using fts5 (words, content = '', detail = 'none', columnsize = 0, tokenize = 'trigram case_sensitive 1');
create virtual table run_term using fts5vocab (run_text, row);
insert into run_text (run_text, rank) values ('secure-delete', 1);

create trigger zone_put after insert on run when new.n % 256 = 0 begin
    insert into run_text (rowid, words)
        select n, run_words(title, id, program) from run where n > (select coalesce(max(last), 0) from zone) and n <= new.n;
    insert or replace into zone
        select new.n, min(n), min(created_at), max(created_at) from run
        where n > (select coalesce(max(last), 0) from zone) and n <= new.n;
end;

create trigger text_change after update of title on run
when old.title <> new.title and new.n <= (select coalesce(max(last), 0) from zone) begin
    insert into run_text (run_text, rowid, words) values ('delete', old.n, run_words(old.title, old.id, old.program));
    insert into run_text (rowid, words) values (new.n, run_words(new.title, new.id, new.program));
end;

create trigger run_gone after delete on run begin
    insert into run_text (run_text, rowid, words) select 'delete', old.n, run_words(old.title, old.id, old.program)
        where old.n <= (select coalesce(max(last), 0) from zone);
    delete from label where (key, value, run) in (select key, value, old.n from json_each(old.labels));
    -- A number that is free at the end will be given again: nothing may be said about it before.
    delete from zone where first > (select coalesce(max(n), 0) from run);
    update zone set last = (select max(n) from run) where last > (select max(n) from run);
end;

insert into label select j.key, j.value, run.n from run, json_each(run.labels) j where run.labels <> '{}';
insert into zone
    select max(n), min(n), min(created_at), max(created_at) from run where n <= (select max(n) from run) / 256 * 256
    group by (n - 1) / 256;

-- The audit by time: people's commands, and the security log.
drop index audit_time;
create index audit_time on audit (json_extract(body, '$.at'), scope, n) where scope <> '@security';
create index audit_security on audit (json_extract(body, '$.at'), scope, n) where scope = '@security';
