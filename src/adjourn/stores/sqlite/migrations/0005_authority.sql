alter table run add column requesters text not null default '';
alter table interrupt add column lives text not null default '';
