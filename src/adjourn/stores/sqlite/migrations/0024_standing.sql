-- How many calls a standing decision has answered, the one that it was made about included; 0: it is none.
alter table interrupt add column uses integer not null default 0;
