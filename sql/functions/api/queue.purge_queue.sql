-- queue.purge_queue: deletes all messages of a queue. Returns the number of deleted messages. Raises QU001 if the queue
-- does not exist. SQL interface.
create or replace function queue.purge_queue(name text) returns bigint
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_arn text := queue.resolve(name);
    v_purged record;
begin
    select * into v_purged from queue.purge_messages(v_arn, 0);
    perform queue.audit_sql('sqs:PurgeQueue', v_arn, '{}', v_purged.purged, v_purged.error is null);
    return v_purged.purged;
end $$;
