-- Parts of every move of a message to another queue.

-- queue.is_waiting: returns whether a move task has reached its canary and waits for a user to continue it.
create or replace function queue.is_waiting(p_task queue.move_task) returns boolean
language sql immutable parallel safe
return p_task.status = 'RUNNING' and p_task.continued_at is null and coalesce(p_task.moved >= p_task.canary, false);

-- queue.first_send: returns the members FirstSentAt (milliseconds since 1970) and FirstSentTo (an ARN), which say when
-- and to which queue a message was sent first. Returns {} if that is not known. `p_sent_at_ms` is the time of sending
-- in the queue p_arn. In a FIFO queue, it is the time at which a dead letter entered the queue. A moved message has the
-- time of the move.
create or replace function queue.first_send(p_system jsonb, p_sent_at_ms bigint, p_arn text) returns jsonb
language sql immutable parallel safe as $$
select case
    when p_system ? 'FirstSentAt' then jsonb_build_object(
        'FirstSentAt', p_system ->> 'FirstSentAt', 'FirstSentTo', p_system ->> 'FirstSentTo')
    when p_system ? 'EnteredBy' or p_system ? 'DeadLetterQueueSourceArn' and right(p_arn, 5) = '.fifo' then '{}'
    else jsonb_build_object('FirstSentAt', p_sent_at_ms::text,
        'FirstSentTo', coalesce(p_system ->> 'DeadLetterQueueSourceArn', p_arn)) end
$$;

-- queue.move_system: returns the system attributes of a message that a move task takes out of a dead-letter queue and
-- gives a new message id. Removes the attributes about the dead-letter queue and the receives. Adds EnteredBy
-- (entered_by), MovedFrom with the message's former id, and the first send (first_send).
create or replace function queue.move_system(p_system jsonb, p_message_id text, p_sent_at_ms bigint, p_arn text)
returns jsonb
language sql immutable parallel safe
return coalesce(p_system, '{}') - 'DeadLetterQueueSourceArn' - 'ApproximateReceiveCount'
    - 'ApproximateFirstReceiveTimestamp' || jsonb_build_object('EnteredBy', 'moved', 'MovedFrom', p_message_id)
    || queue.first_send(p_system, p_sent_at_ms, p_arn);

-- queue.move_target: returns the ARN of a message's target queue, or why the message cannot move. The target is the
-- task's destination. If the task has no destination, the target is the queue that the message came from, unless that
-- queue is the dead-letter queue itself. `failure` is AWS's text for FailureReason.
create or replace function queue.move_target(p_queue_id int, p_destination text, p_system jsonb)
returns table (target_arn text, failure text)
language sql stable as $$
select q.arn, case when a.arn is null then 'CouldNotDetermineMessageSource'
                   when q.arn is null then 'AWS.SimpleQueueService.NonExistentQueue' end
from (select nullif(coalesce(p_destination, p_system ->> 'DeadLetterQueueSourceArn'), o.arn) as arn
      from queue.queues o where o.queue_id = p_queue_id) a
left join queue.queues q on q.arn = a.arn
$$;

-- queue.send_moved: sends the messages that a move task removed from the standard queue p_queue_id. The messages have
-- new ids and times, the target queue's delay, and no attribute PenstockError. Does not check the messages' size.
-- Raises QU001 if another transaction has deleted a target. The caller then undoes the step, and the next step reports
-- the missing target. Takes the locks of send_messages.
create or replace function queue.send_moved(p_queue_id int, p_targets text[], p_messages queue.received_row[])
returns void
language plpgsql as $$
declare
    v_arn text := (select q.arn from queue.queues q where q.queue_id = p_queue_id);
begin
    if cardinality(p_targets) <> (
        select count(*) from queue.send_messages(
            p_queues => p_targets,
            p_message_ids => array(select gen_random_uuid() from unnest(p_targets)),
            p_bodies => array(select m.body from unnest(p_messages) with ordinality m order by m.ordinality),
            p_sizes => array_fill(0, array[cardinality(p_targets)]),
            p_attributes => array(
                select queue.without_error(m.attributes::jsonb) from unnest(p_messages) with ordinality m
                order by m.ordinality),
            p_system => array(
                select queue.move_system(m.system::jsonb, m.message_id, m.sent_at_ms, v_arn)
                from unnest(p_messages) with ordinality m order by m.ordinality)) s
        where s.error is null)
    then
        raise exception 'the queue to which the messages move was deleted' using errcode = 'QU001';
    end if;
end $$;

-- queue.move_side_rows: moves messages from the slow path (queue.side). Returns the number of moved messages. If
-- p_destination is null, each message moves to the queue that it came from. The messages arrive in the order in which
-- they became visible. The caller has locked the messages.
create or replace function queue.move_side_rows(p_queue_id int, p_places tid[], p_destination text) returns int
language plpgsql as $$
declare
    v_taken record;
    v_now timestamptz := clock_timestamp();
begin
    with gone as (
        delete from queue.side s where s.ctid = any (p_places) returning s.*),
    recorded as (
        insert into queue.history
        select h.* from gone g
        cross join lateral queue.history_row(
            p_queue_id => p_queue_id, p_outcome => 'moved', p_system => g.system, p_receive_count => g.receive_count,
            p_first_received_at => g.first_received_at, p_redelivered_at => g.redelivered_at, p_sent_at => g.sent_at,
            p_entered_at => g.entered_at, p_finished_at => v_now) h
        where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id))
    select count(*)::int as moved, array_agg(
            coalesce(p_destination, g.system ->> 'DeadLetterQueueSourceArn') order by g.visible_at, g.id) as targets,
        array_agg(d order by g.visible_at, g.id) as messages
    into v_taken from gone g cross join lateral queue.build_received_row(p_side => g::queue.side) d;
    if v_taken.moved > 0 then
        perform queue.send_moved(p_queue_id, v_taken.targets, v_taken.messages);
    end if;
    return v_taken.moved;
end $$;
