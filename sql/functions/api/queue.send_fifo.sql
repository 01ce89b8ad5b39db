-- queue.send_fifo: sends a message to a FIFO queue inside the caller's transaction. Returns the message's id. If the
-- call has no deduplication id, and the queue deduplicates by content, the queue computes the id. A message without a
-- deduplication id counts as new. Other senders to the message's group wait until the transaction ends, so the group's
-- messages keep their order. Raises the same errors as queue.send_batch. SQL interface.
create or replace function queue.send_fifo(
    name text, message jsonb, group_id text, deduplication_id text default null, headers jsonb default null)
returns bigint
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return (select s from queue.send_documents(name, array[message], array[headers], null, group_id,
        case when deduplication_id is not null then array[deduplication_id] end) s);
end $$;
