-- queue.next_ready_at(queue, now): since or from when the first group of a FIFO queue may be received from; null when all are
-- empty. It begins where the last search for ready groups found the first one (take_groups): in the last second, or where
-- full searches take long. When one of these is due it says p_now, so that a receive makes it.
-- Index: fifo_search_pkey, the newest entry; fifo_ready_visible_at.
create or replace function queue.next_ready_at(p_queue_id int, p_now timestamptz) returns timestamptz
language sql stable as $$
select case when k.long_full and k.full_due_at <= p_now then p_now else (
    select r.visible_at from queue.fifo_ready r
    where queue.time_key(r.queue_id, -2) = queue.time_key(p_queue_id, -2)
        and r.visible_at >= case
            when k.long_full or k.searched_at > p_now - interval '1 second' then k.late_visible_at
            else '-infinity' end
    order by r.visible_at limit 1) end
from (select) one
left join lateral (
    select s.*, s.full_took > interval '5 milliseconds' as long_full from queue.fifo_search s
    where s.queue_id = p_queue_id and s.searched_at <= p_now order by s.searched_at desc limit 1) k on true
$$;
