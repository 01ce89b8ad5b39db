-- queue.send_batch: sends messages inside the caller's transaction. Returns the messages' ids in order. `headers`
-- contains a JSON object or null for each message. `delay` is in seconds. Null means the queue's delay. `group_id` is
-- required for a FIFO queue. The commit notifies the receivers that wait for the queue. Raises QU001 if the queue does
-- not exist. Raises QU003 if a message or parameter is invalid. SQL interface.
create or replace function queue.send_batch(
    name text, messages jsonb[], headers jsonb[] default null, delay int default null,
    group_id text default null, deduplication_ids text[] default null)
returns setof bigint
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return query select * from queue.send_documents(name, messages, headers, delay, group_id, deduplication_ids);
end $$;
