-- queue.send_fifo(name, message, group_id, deduplication_id, headers): sends one message to a FIFO queue inside the
-- caller's transaction. Returns its id. Every message counts as new if it has no deduplication id and the queue does
-- not deduplicate by content. Other senders to the group wait until this transaction ends, so the messages keep their
-- order. Raises as queue.send_batch. SQL interface.
create or replace function queue.send_fifo(
    name text, message jsonb, group_id text, deduplication_id text default null, headers jsonb default null)
returns bigint
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return (select s from queue.send_documents(name, array[message], array[headers], null, group_id,
        case when deduplication_id is not null then array[deduplication_id] end) s);
end $$;
