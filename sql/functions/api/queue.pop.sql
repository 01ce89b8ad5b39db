-- queue.pop: receives messages and deletes them in the same transaction. Raises QU001 if the queue does not exist, and
-- QU004 under another isolation level than READ COMMITTED. SQL interface.
create or replace function queue.pop(name text, qty int default 1) returns setof queue.received_message
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_message queue.received_message;
    v_ids bigint[];
begin
    for v_message in select * from queue.receive(name, 30, qty) loop
        v_ids := v_ids || v_message.msg_id;
        return next v_message;
    end loop;
    perform queue.delete_by_id(queue.resolve(name), v_ids);
end $$;
