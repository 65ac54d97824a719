-- How many calls a standing decision has answered, the one that it was made about included; 0: it is none.
alter table adjourn.interrupt add column uses int not null default 0;
