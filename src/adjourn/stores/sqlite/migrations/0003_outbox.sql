create table endpoint (
    name text primary key,
    kind text not null,
    url text not null,
    secret text not null,
    topics text not null,
    at real not null
) strict, without rowid;

create table letter (
    n integer primary key autoincrement,
    id text not null,
    endpoint text not null,
    topic text not null,
    run text not null,
    body text not null,
    at real not null,
    state text not null,
    tries integer not null,
    due_at real not null,
    error text not null
) strict;

create index letter_due on letter (endpoint, run, n) where state = 'due';
create index letter_time on letter (due_at) where state = 'due';
create index letter_dead on letter (n) where state = 'dead';
