-- The index by which runs are found. It is made of journals after runs came to rest, by whoever has time for it.

-- Runs that changed while nobody had them. A step of a run that a worker has writes nothing here.
create table index_due (
    run integer primary key
) strict;

create trigger index_new after insert on run when new.erased = 0 begin
    insert into index_due select new.n where not exists (select 1 from index_due where run = new.n);
end;

create trigger index_rest after update of seq on run when new.worker = '' and new.erased = 0 begin
    insert into index_due select new.n where not exists (select 1 from index_due where run = new.n);
end;

-- Numbers apart from texts: those who look for a number go through small rows.
create table index_number (
    run integer primary key,
    seq integer not null,
    cost real not null,
    tokens integer not null,
    took real not null,
    waited real not null
) strict;

create index index_cost on index_number (cost);
create index index_tokens on index_number (tokens);
create index index_took on index_number (took);
create index index_waited on index_number (waited);

create table index_text (
    run integer primary key,
    text text not null,
    facts text not null
) strict;

create virtual table index_words using fts5 (
    text, content = 'index_text', content_rowid = 'run', detail = 'none', columnsize = 0, tokenize = 'trigram case_sensitive 1'
);
insert into index_words (index_words, rank) values ('secure-delete', 1);

create trigger index_text_put after insert on index_text begin
    insert into index_words (rowid, text) values (new.run, new.text);
end;

create trigger index_text_gone after delete on index_text begin
    insert into index_words (index_words, rowid, text) values ('delete', old.run, old.text);
end;

insert into index_due select n from run where erased = 0;
