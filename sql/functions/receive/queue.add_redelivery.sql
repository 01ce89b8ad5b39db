-- queue.add_redelivery: returns the times of a message's later receives, with one time added. The array keeps the first
-- 100 times, so minutes that are already counted do not change. The receive count of a message contains the total.
-- PostgreSQL inlines this function.
create or replace function queue.add_redelivery(p_times timestamptz[], p_at timestamptz) returns timestamptz[]
language sql immutable parallel safe
return case when cardinality(p_times) >= 100 then p_times else p_times || p_at end;
