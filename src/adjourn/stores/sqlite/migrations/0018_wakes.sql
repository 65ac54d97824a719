-- Which runs are due, for whoever drives them from outside; a newer wake of a run has a number that none had before.
create table wake (
    n integer primary key autoincrement,
    run integer not null unique,
    not_before real not null
) strict;

create index wake_time on wake (not_before, n);
