-- One integer names a record: in a table whose key has two columns, a row above a quarter of a page takes pages of its own.
create table journal_by_key (
    key integer primary key,
    epoch integer not null,
    body text,
    head blob not null,
    run integer generated always as (key >> 32) virtual,
    seq integer generated always as (key & 4294967295) virtual
) strict;

insert into journal_by_key (key, epoch, body, head) select (run << 32) | seq, epoch, body, head from journal order by run, seq;
drop table journal;
alter table journal_by_key rename to journal;

-- What a run's chain begins with. It goes when the run is erased: then nobody can try texts against the hashes that stay.
alter table run add column salt blob not null default x'';
