-- What people leave on an item of the inbox: to whom it is given, and who does not want to see it until when.
alter table interrupt add column assigned text not null default '';
alter table interrupt add column snoozed text not null default '{}';
