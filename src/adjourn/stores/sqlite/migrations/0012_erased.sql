-- When a run's content was erased; 0 if it was not.
alter table run add column erased real not null default 0;
