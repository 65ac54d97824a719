-- Which runs go on with a run: the first record of each says so.
create index journal_after on journal (body ->> '$.after.run')
    where key & 4294967295 = 1 and body ->> '$.after.run' is not null;
