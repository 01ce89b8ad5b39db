-- queue.metrics: returns how many messages a queue has, and the ages of the queue's newest and oldest message in
-- seconds. Raises QU001 if the queue does not exist. SQL interface.
create or replace function queue.metrics(name text)
returns table (queue_name text, queue_length bigint, visible bigint, in_flight bigint, delayed bigint,
    newest_msg_age_sec bigint, oldest_msg_age_sec bigint, total_messages bigint, scrape_time timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return query
    select d.name, d.visible + d.in_flight + d.delayed, d.visible, d.in_flight, d.delayed, d.newest_age_seconds,
        d.oldest_age_seconds, d.total_messages, clock_timestamp()
    from queue.describe_queue(queue.resolve(metrics.name), true) d;
end $$;
