-- Entries that counted a result or a dismissal as a denial, the use of a standing decision as a question, or one of several votes
-- as the answer. They are made anew of their journals, by whoever has time for it.

with again as (
    delete from adjourn.index_text where facts like '%"verdict":"deny"%' or facts like '%"verdict":"approve"%' returning run
), gone as (
    delete from adjourn.index_number where run in (select run from again)
)
insert into adjourn.index_due (run) select r.n from adjourn.run r join again on again.run = r.n where r.erased = 0;
