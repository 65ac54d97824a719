alter table interrupt add column disowned text not null default '';
