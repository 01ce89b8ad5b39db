-- queue.ready_search_start(queue, now): where a search for ready groups of a FIFO queue may begin in the index by time: above
-- the entries of the past, as far as a search of the last second has found them; else '-infinity'.
-- Index: fifo_search_pkey, the newest entry. Called by: poll_queues.
create or replace function queue.ready_search_start(p_queue_id int, p_now timestamptz) returns timestamptz
language sql stable as $$
select coalesce((
    select case when s.searched_at between p_now - interval '1 second' and p_now then s.visible_at end
    from queue.fifo_search s where s.queue_id = p_queue_id order by s.searched_at desc limit 1), '-infinity')
$$;
