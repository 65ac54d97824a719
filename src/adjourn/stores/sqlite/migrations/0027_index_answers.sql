-- Entries that counted a result or a dismissal as a denial, the use of a standing decision as a question, or one of several votes
-- as the answer. They are made anew of their journals, by whoever has time for it.

create temp table index_again as select n from run where erased = 0 and n in (
    select run from index_text where facts like '%"verdict":"deny"%' or facts like '%"verdict":"approve"%'
);
delete from index_text where run in (select n from index_again);
delete from index_number where run in (select n from index_again);
insert into index_due select n from index_again where n not in (select run from index_due);
drop table index_again;
