-- queue.find_message: returns the places of a message in the queues of an account and region, or only in the queue
-- p_arn. Messages have no index by their ids, so the function reads messages and archived messages. Stops at the first
-- message that still exists, after about p_scan messages, or after about p_seconds. Queues with a failure, a recorded
-- receive or an edit of the message come first. A message that a move task moved has another id since, and the function
-- finds it by its former ids too.
--   `public_id` is the message's number in the queue, or null if only a failure shows that the queue had the message.
--   `is_there` is false for an ended message.
-- The last row has no arn. Its `looked_at` is the number of messages that the function read. Its `messages` is the
-- number of messages in these queues. If the function has not read all, the number comes from the last measurements, or
-- is null without them. Takes no lock.
create or replace function queue.find_message(
    p_account_id text, p_region text, p_arn text, p_message_id uuid, p_scan bigint, p_seconds float8)
returns table (arn text, public_id bigint, is_there boolean, looked_at bigint, messages bigint)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_deadline timestamptz := clock_timestamp() + p_seconds * interval '1 second';
    v_known int[] := array(
        select t.queue_id from queue.receive_trace t where t.message_id = p_message_id
        union select f.queue_id from queue.failure f where f.message_id = p_message_id
        union select e.queue_id from queue.edited_message e where e.message_id = p_message_id);
    v_former jsonb := jsonb_build_array(jsonb_build_object('id', p_message_id));
    v_queue record;
    v_part record;
    v_looked_at bigint := 0;
    v_is_all boolean := true;
begin
    for v_queue in
        select q.queue_id, q.arn, q.fifo, q.queue_id = any (v_known) as is_known from queue.queues q
        where q.account_id = p_account_id and q.region = p_region and (p_arn is null or q.arn = p_arn)
        order by 4 desc, q.queue_id
    loop
        v_is_all := v_is_all and clock_timestamp() < v_deadline;
        exit when not v_is_all;
        -- The order makes PostgreSQL use the primary keys.
        select count(*) as messages,
            max(queue.public_id(n.shard, n.id)) filter (
                where n.message_id = p_message_id or n.system -> 'Moves' @> v_former) as public_id
        into v_part
        from (
            (select s.shard, s.id, s.message_id, s.system from queue.side s
            where not v_queue.fifo and s.queue_id = v_queue.queue_id order by s.shard, s.id
            limit p_scan - v_looked_at)
            union all
            (select l.shard, l.id, l.message_id, l.system from queue.log l
            where not v_queue.fifo and l.queue_id = v_queue.queue_id order by l.shard, l.id
            limit p_scan - v_looked_at)
            union all
            (select queue.fifo_shard(), f.id, f.message_id, f.system
            from queue.fifo_group g join queue.fifo_message f on f.group_key = g.group_key and f.group_key > 0
            where v_queue.fifo and g.queue_id = v_queue.queue_id
            limit p_scan - v_looked_at)
            union all
            (select (a.public_id & 255)::int - 2, a.public_id >> 8, a.message_id, a.system from queue.archive a
            where a.queue_id = v_queue.queue_id order by a.archive_id desc limit p_scan - v_looked_at)) n;
        v_looked_at := v_looked_at + v_part.messages;
        v_is_all := v_looked_at < p_scan;
        continue when v_part.public_id is null and not v_queue.is_known;
        arn := v_queue.arn;
        public_id := coalesce(v_part.public_id, (
            select max(t.public_id) from queue.receive_trace t
            where t.message_id = p_message_id and t.queue_id = v_queue.queue_id), (
            select e.public_id from queue.edited_message e
            where e.message_id = p_message_id and e.queue_id = v_queue.queue_id));
        is_there := exists (select from queue.pick_messages(v_queue.queue_id, array[public_id]));
        return next;
        exit when is_there;
    end loop;
    return query
    select null::text, null::bigint, null::boolean, v_looked_at, case when v_is_all then v_looked_at else (
        select case when bool_and(m.queue_id is not null)
            then greatest(sum(m.visible + m.in_flight + m.delayed)::bigint, v_looked_at) end
        from queue.queues q left join queue.measurement m on m.queue_id = q.queue_id
        where q.account_id = p_account_id and q.region = p_region and (p_arn is null or q.arn = p_arn)) end;
end $$;
