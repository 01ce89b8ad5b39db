-- queue.compact_dead_letter_counts(limit): adds up the rows of queue.dead_letter_count to one row a queue when there
-- are over 1,000. The container adds them up while it measures; an installation of Lambda functions only has no such
-- process. At most p_limit rows a call. Locks: the rows, skipped when locked.
create or replace function queue.compact_dead_letter_counts(p_limit int) returns void
language plpgsql as $$
begin
    if (select count(*) <= 1000 from (select from queue.dead_letter_count limit 1001) d) then
        return;
    end if;
    with taken as (
        delete from queue.dead_letter_count d where d.ctid = any (array(
            select e.ctid from queue.dead_letter_count e limit p_limit for update skip locked))
        returning d.queue_id, d.messages)
    insert into queue.dead_letter_count (queue_id, messages)
    select t.queue_id, sum(t.messages) from taken t
    where exists (select from queue.queues q where q.queue_id = t.queue_id) group by t.queue_id;
end $$;
