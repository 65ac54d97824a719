-- Legal holds: nothing in their scope is erased or pruned.
create table hold (
    scope text primary key,
    by text not null,
    reason text not null,
    at real not null
) strict, without rowid;

-- What has ended, by when: for pruning, however many runs there are.
create index run_completed on run (updated_at, id) where status = 'completed';
create index run_cancelled on run (updated_at, id) where status = 'cancelled';
