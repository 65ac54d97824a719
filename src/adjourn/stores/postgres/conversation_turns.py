"""The turns of a conversation in PostgreSQL: from the newest back, and who goes on with which."""

LAST = """
select id from adjourn.run where session = %(session)s and session <> '' and program = %(program)s order by n desc limit 1
"""
LATER = """
with recursive later (n, id, status) as (
    select r.n, r.id, r.status from adjourn.run r where r.after = %(run)s and r.after <> ''
    union
    select r.n, r.id, r.status from later l join adjourn.run r on r.after = l.id and r.after <> ''
)
select id, status from later order by n
"""
CONVERSATION = """
with recursive turn (id) as (
    select r.id from adjourn.run r where r.id = %(run)s
    union
    select x.id from turn t cross join lateral (
        select r.after as id from adjourn.run r where r.id = t.id and r.after <> ''
        union all
        select r.id from adjourn.run r where r.after = t.id and r.after <> ''
    ) x
)
select r.id from turn t join adjourn.run r on r.id = t.id where r.erased = 0 order by r.n desc
"""
FOLLOWED = """
select r.after, r.id from adjourn.run r where r.after = any(%(runs)s::text[]) and r.after <> '' order by r.n
"""
TURNS = """
with recursive turn (depth, n, upto) as (
    select 0, r.n, %(seq)s::bigint from adjourn.run r where r.id = %(run)s and r.seq >= %(seq)s
    union all
    select t.depth + 1, b.n, r.after_seq
    from turn t
    join adjourn.run r on r.n = t.n and r.after <> ''
    join adjourn.run b on b.id = r.after
    where t.depth + 1 < %(limit)s and b.n < t.n
)
select t.depth, r.id, j.seq, j.body, j.head from turn t
join adjourn.run r on r.n = t.n
join adjourn.journal j on j.run = t.n and j.seq <= t.upto
order by t.depth, j.seq
"""
"""One statement for all of them. A run is younger than the one that it goes on with: so this ends,
whatever a table says."""
