-- queue.application_functions(): returns the functions that applications may call, those of api/ (docs/sql.md).
create or replace function queue.application_functions() returns setof regprocedure
language sql stable as $$
select p.oid::regprocedure from pg_proc p
where p.pronamespace = 'queue'::regnamespace and p.proname = any (array[
    'ack', 'archive', 'change_visibility', 'create', 'create_fifo', 'create_schedule', 'delete', 'delete_queue',
    'delete_schedule', 'list_queues', 'metrics', 'next_fires', 'parse_schedule', 'pop', 'preview_schedule',
    'publish_event', 'purge_queue', 'receive', 'receive_fifo', 'send', 'send_batch', 'send_fifo', 'send_topic',
    'subscribe', 'unsubscribe'])
$$;
