-- queue.delete_queue: deletes a queue and its messages. Returns false if the queue does not exist. SQL interface.
create or replace function queue.delete_queue(name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_arn text;
    v_dropped record;
begin
    v_arn := queue.resolve(name);
    select * into v_dropped from queue.drop_queue(v_arn);
    perform queue.audit_sql('sqs:DeleteQueue', v_arn, '{}', 1, v_dropped.error is null);
    return v_dropped.error is null;
exception when sqlstate 'QU001' then
    return false;
end $$;
