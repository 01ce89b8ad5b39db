-- queue.fail: records why the last receive of a message failed. If vt is given, makes the message visible in vt
-- seconds. If the message becomes a dead letter, it has the attribute PenstockError with the last error. Cuts the error
-- to 1,024 characters. Returns false if the message does not exist. Raises QU001 if the queue does not exist, and QU003
-- for an empty error or a vt outside 0 to 43,200. SQL interface.
create or replace function queue.fail(name text, id bigint, error text, vt int default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_arn text := queue.resolve(name);
    v_queue_id int;
    v_message record;
begin
    if coalesce(error, '') = '' or vt not between 0 and 43200 then
        raise exception 'an error is not empty and vt is 0 to 43200 seconds' using errcode = 'QU003';
    end if;
    if vt is not null and not exists (select from queue.change_visibility_by_id(v_arn, id, vt)) then
        return false;
    end if;
    select q.queue_id into v_queue_id from queue.queues q where q.arn = v_arn;
    select m.message_id, m.receive_count into v_message from queue.pick_messages(v_queue_id, array[fail.id]) m;
    if v_message.message_id is null then
        return false;
    end if;
    perform queue.record_failure(v_queue_id, v_message.message_id, v_message.receive_count, error);
    return true;
end $$;
