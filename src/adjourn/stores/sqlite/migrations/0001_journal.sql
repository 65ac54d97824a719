create table run (
    n integer primary key,
    id text not null unique,
    kind text not null,
    program text not null,
    session text not null,
    labels text not null,
    title text not null,
    input_digest text not null,
    seq integer not null,
    head blob not null,
    status text not null,
    epoch integer not null,
    worker text not null,
    lease_until real not null,
    wake_at real not null,
    blocked text not null,
    opens integer not null,
    errors integer not null,
    stopped integer not null,
    created_at real not null,
    updated_at real not null
) strict;

create index run_due on run (program) where status in ('ready', 'pausing', 'cancelling');
create index run_wake on run (wake_at) where wake_at > 0;
create index run_blocked on run (program) where blocked <> '';
create index run_status on run (status, n);
create index run_program on run (program, n);
create index run_session on run (session, n) where session <> '';

create table journal (
    run integer not null,
    seq integer not null,
    epoch integer not null,
    body text not null,
    head blob not null,
    primary key (run, seq)
) strict, without rowid;

create table interrupt (
    run integer not null,
    i text not null,
    seq integer not null,
    kind text not null,
    state text not null,
    digest text not null,
    event text not null,
    expires real not null,
    undoing integer not null,
    approvers integer not null,
    by text not null,
    votes text not null,
    opened_at real not null,
    primary key (run, i)
) strict, without rowid;

create index interrupt_open on interrupt (opened_at, run, seq) where state = 'open';
create index interrupt_id on interrupt (i);

create table request (
    run integer not null,
    id text not null,
    seq integer not null,
    body text not null,
    primary key (run, id)
) strict, without rowid;

create table halt (
    scope text primary key,
    by text not null,
    reason text not null,
    at real not null
) strict, without rowid;
