-- queue.pop(name, qty): receives messages and deletes them in the same transaction. Raises QU001, QU004. SQL interface.
create or replace function queue.pop(p_name text, p_qty int default 1)
returns table (msg_id bigint, read_ct int, enqueued_at timestamptz, vt timestamptz, message jsonb, headers jsonb)
language plpgsql as $$
declare
    v_ids bigint[];
begin
    for msg_id, read_ct, enqueued_at, vt, message, headers in select * from queue.receive(p_name, 30, p_qty) loop
        v_ids := v_ids || msg_id;
        return next;
    end loop;
    perform queue.delete_by_id(queue.resolve(p_name), v_ids);
end $$;
