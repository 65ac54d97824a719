-- The index by which runs are found. It is made of journals after runs came to rest, by whoever has time for it.

-- Runs that changed while nobody had them, once for each change: nobody who writes one waits for whoever takes it. A step of a
-- run that a worker has writes nothing here.
create table adjourn.index_due (
    k bigint generated always as identity primary key,
    run bigint not null
);

create index index_due_run on adjourn.index_due (run);

create function adjourn.index_later() returns trigger language plpgsql as $body$
begin
    insert into adjourn.index_due (run) values (new.n);
    return null;
end
$body$;

create trigger index_new after insert on adjourn.run for each row when (new.erased = 0)
    execute function adjourn.index_later();
create trigger index_rest after update of seq on adjourn.run for each row when (new.worker = '' and new.erased = 0)
    execute function adjourn.index_later();

-- Numbers apart from texts: those who look for a number go through small rows.
create table adjourn.index_number (
    run bigint primary key,
    seq bigint not null,
    cost float8 not null,
    tokens bigint not null,
    took float8 not null,
    waited float8 not null
);

create index index_cost on adjourn.index_number (cost);
create index index_tokens on adjourn.index_number (tokens);
create index index_took on adjourn.index_number (took);
create index index_waited on adjourn.index_number (waited);

create table adjourn.index_text (
    run bigint primary key,
    text text collate "C" not null,
    facts text collate "C" not null
);

create index index_words on adjourn.index_text using gin (text gin_trgm_ops);

insert into adjourn.index_due (run) select n from adjourn.run where erased = 0 order by n;
