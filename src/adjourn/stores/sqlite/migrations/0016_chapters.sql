-- At which record a run's last chapter begins; 0 if it has none.
alter table run add column chapter integer not null default 0;
