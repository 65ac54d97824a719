-- Names and texts are compared byte by byte, as everywhere else: collate "C". Times are seconds since 1970.
-- No index has a column that every step of a run changes (seq, head, updated_at): such a step rewrites no index (HOT).

create table adjourn.meta (
    key text collate "C" primary key,
    value text collate "C" not null
);

insert into adjourn.meta values ('store', replace(gen_random_uuid()::text, '-', ''));

-- One number for all that every rule may ask for (halts, endpoints, whether decisions are signed, whether wakes are wanted):
-- whoever changes one of them raises it.
create table adjourn.config (
    one boolean primary key default true check (one),
    generation uuid not null
);

insert into adjourn.config values (true, gen_random_uuid());

create table adjourn.run (
    n bigint generated always as identity primary key,
    id text collate "C" not null unique,
    kind text collate "C" not null,
    program text collate "C" not null,
    session text collate "C" not null,
    labels text collate "C" not null,
    title text collate "C" not null,
    words text collate "C" not null,
    input_digest text collate "C" not null,
    seq bigint not null,
    head bytea not null,
    status text collate "C" not null,
    epoch bigint not null,
    worker text collate "C" not null,
    wake_at float8 not null,
    blocked text[] collate "C" not null,
    opens integer not null,
    errors integer not null,
    stopped boolean not null,
    created_at float8 not null,
    updated_at float8 not null,
    requesters text[] collate "C" not null,
    salt bytea not null,
    erased float8 not null,
    chapter bigint not null,
    queued boolean not null,
    after text collate "C" not null,
    after_seq bigint not null,
    -- The status that people see, except `running`, which depends on the time.
    shown text collate "C" not null generated always as (
        case
            when status = 'waiting' and opens > 0 and opens = errors then 'failed'
            when stopped then 'stopped'
            else status
        end
    ) stored,
    -- Since when nobody has it: null while a worker does, so that its steps change no index.
    rested_at float8 generated always as (case when worker = '' then updated_at end) stored,
    -- Since when it could be taken.
    ready_at float8 generated always as (
        case when worker = '' and status in ('ready', 'pausing', 'cancelling') then updated_at end
    ) stored
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

create index run_ready on adjourn.run (ready_at, n) where ready_at is not null;
create index run_worker on adjourn.run (worker) where worker <> '';
create index run_wake on adjourn.run (wake_at) where wake_at > 0;
create index run_blocked on adjourn.run ((-n)) where blocked <> '{}';
-- Of lists, the newest first: only these have that order, so nothing else is gone along.
create index run_shown on adjourn.run (shown, (-n));
create index run_program on adjourn.run (program, shown, (-n));
create index run_session on adjourn.run (session, shown, (-n)) where session <> '';
create index run_last on adjourn.run (session, program, n) where session <> '';
create index run_after on adjourn.run (after) where after <> '';
create index run_rested on adjourn.run (rested_at) where rested_at is not null;
create index run_completed on adjourn.run (rested_at, id) where status = 'completed';
create index run_cancelled on adjourn.run (rested_at, id) where status = 'cancelled';
create index run_words on adjourn.run using gin (words gin_trgm_ops);

-- For every 4,096 numbers of runs the minutes in which they began: a span of time becomes a range of numbers.
create table adjourn.zone (
    k bigint primary key,
    least float8 not null,
    most float8 not null
);

create table adjourn.label (
    key text collate "C" not null,
    value text collate "C" not null,
    run bigint not null,
    primary key (key, value, run)
);

create index label_run on adjourn.label (run);

create table adjourn.journal (
    run bigint not null,
    seq bigint not null,
    epoch bigint not null,
    body text collate "C",
    head bytea not null,
    primary key (run, seq)
);

create table adjourn.interrupt (
    run bigint not null,
    i text collate "C" not null,
    seq bigint not null,
    kind text collate "C" not null,
    state text collate "C" not null,
    digest text collate "C" not null,
    event text collate "C" not null,
    expires float8 not null,
    undoing boolean not null,
    approvers integer not null,
    by text collate "C" not null,
    votes text collate "C" not null,
    lives text collate "C" not null,
    disowned text[] collate "C" not null,
    rank integer not null,
    opened_at float8 not null,
    type text collate "C" not null,
    tool text collate "C" not null,
    groups text[] collate "C" not null,
    said text collate "C" not null,
    primary key (run, i)
);

create index interrupt_open on adjourn.interrupt (rank, opened_at, run, seq)
    where state = 'open' and kind not in ('timer', 'event');
create index interrupt_id on adjourn.interrupt (i);

create table adjourn.request (
    run bigint not null,
    id text collate "C" not null,
    seq bigint not null,
    body text collate "C" not null,
    primary key (run, id)
);

create table adjourn.misfit (
    run bigint primary key,
    seq bigint not null,
    body text collate "C" not null
);

create table adjourn.worker (
    id text collate "C" primary key,
    until float8 not null
);

create table adjourn.halt (
    scope text collate "C" primary key,
    by text collate "C" not null,
    reason text collate "C" not null,
    at float8 not null
);

create table adjourn.hold (
    scope text collate "C" primary key,
    by text collate "C" not null,
    reason text collate "C" not null,
    at float8 not null
);

create table adjourn.audit (
    scope text collate "C" not null,
    n bigint not null,
    at float8 not null,
    body text collate "C" not null,
    head bytea not null,
    primary key (scope, n)
);

create index audit_time on adjourn.audit (at, scope, n) where scope <> '@security';
create index audit_security on adjourn.audit (at, n) where scope = '@security';

create table adjourn.audit_head (
    scope text collate "C" primary key,
    n bigint not null,
    head bytea not null
);

create table adjourn.touched (
    scope text collate "C" primary key,
    at float8 not null
);

create table adjourn.seal (
    k bigint primary key,
    at float8 not null,
    prev bytea not null,
    body text collate "C" not null,
    hash bytea not null,
    kid text collate "C" not null,
    sig bytea not null
);

create table adjourn.endpoint (
    name text collate "C" primary key,
    kind text collate "C" not null,
    url text collate "C" not null,
    secret text collate "C" not null,
    topics text[] collate "C" not null,
    at float8 not null
);

create table adjourn.letter (
    n bigint generated always as identity primary key,
    id text collate "C" not null,
    endpoint text collate "C" not null,
    topic text collate "C" not null,
    run text collate "C" not null,
    body text collate "C" not null,
    at float8 not null,
    state text collate "C" not null,
    tries integer not null,
    due_at float8 not null,
    error text collate "C" not null
);

create index letter_due on adjourn.letter (endpoint, run, n) where state = 'due';
create index letter_time on adjourn.letter (due_at) where state = 'due';
create index letter_dead on adjourn.letter (n) where state = 'dead';
create index letter_run on adjourn.letter (run) where run <> '';

-- Which runs are due, for whoever drives them from outside; a newer wake of a run has a number that none had before.
create table adjourn.wake (
    n bigint generated always as identity primary key,
    run bigint not null unique,
    not_before float8 not null
);

create index wake_time on adjourn.wake (not_before, n);

-- States that were written down: caches, which may be deleted at any time.
create table adjourn.snapshot (
    run bigint primary key,
    seq bigint not null,
    head bytea not null,
    format integer not null,
    stretches text collate "C" not null,
    rest bytea not null
);

create table adjourn.segment (
    run bigint not null,
    edition text collate "C" not null,
    path text collate "C" not null,
    k bigint not null,
    body bytea not null,
    primary key (run, edition, path, k)
);

-- Live text, for a minute at most. A crash of the server empties both.
create unlogged table adjourn.watched (
    run text collate "C" primary key,
    until float8 not null,
    asked float8 not null
);

create unlogged table adjourn.said (
    n bigint generated always as identity primary key,
    run text collate "C" not null,
    source text collate "C" not null,
    at float8 not null,
    body text collate "C" not null
);

create index said_run on adjourn.said (run, n);

-- A row in here comes and goes again when somebody wants to know whether old transactions keep others from being removed.
create table adjourn.probe (
    n integer not null
);
