-- What other frameworks save: rows of bytes by key. A thread that belongs to a run goes with it.
create table guest_thread (
    id text primary key,
    run text not null,
    also text not null,
    version integer not null,
    at real not null
) strict;

create index guest_thread_run on guest_thread (run) where run <> '';

create index guest_thread_at on guest_thread (at);

create table guest_row (
    thread text not null,
    key text not null,
    tag text not null,
    body blob not null,
    primary key (thread, key)
) strict;

create index guest_row_tag on guest_row (tag) where tag <> '';
