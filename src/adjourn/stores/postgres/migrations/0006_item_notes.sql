-- What people leave on an item of the inbox: to whom it is given, and who does not want to see it until when.
alter table adjourn.interrupt add column assigned text collate "C" not null default '';
alter table adjourn.interrupt add column snoozed text collate "C" not null default '{}';
