-- Parts of every move of a message to another queue.

-- queue.is_waiting: returns whether a move task has reached its canary and waits for a user to continue it.
create or replace function queue.is_waiting(p_task queue.move_task) returns boolean
language sql immutable parallel safe
return p_task.status = 'RUNNING' and p_task.continued_at is null and coalesce(p_task.moved >= p_task.canary, false);

-- queue.first_send: returns the members FirstSentAt (milliseconds since 1970) and FirstSentTo (an ARN), which say when
-- and to which queue a message was sent first. Returns {} if that is not known. `p_sent_at` is the time of sending in
-- the queue p_arn, which is the first send only of a message that has not moved before.
create or replace function queue.first_send(p_system jsonb, p_sent_at timestamptz, p_arn text) returns jsonb
language sql stable parallel safe as $$
select case
    when p_system ? 'FirstSentAt' then jsonb_build_object(
        'FirstSentAt', p_system ->> 'FirstSentAt', 'FirstSentTo', p_system ->> 'FirstSentTo')
    when p_system ? 'EnteredBy' then '{}'
    else jsonb_build_object('FirstSentAt', queue.epoch_ms(p_sent_at)::text, 'FirstSentTo', p_arn) end
$$;

-- queue.add_move: returns the system attributes that a message gets when it leaves a queue for another queue.
--   `p_what` is dead_lettered or moved, which becomes EnteredBy (entered_by).
--   `p_arn` is the queue that the message leaves. The next parameters describe the message in that queue. The number of
--     receives and the time of the first receive can be null.
-- The member Moves lists the message's last 40 moves, oldest first: `n` counts from 1, `from` is an ARN, and `id` is
-- the message id before the move. FirstSentAt and FirstSentTo are the send before all moves (first_send).
create or replace function queue.add_move(
    p_what text, p_at timestamptz, p_arn text, p_public_id bigint, p_message_id text, p_sent_at timestamptz,
    p_receive_count int, p_first_received_at timestamptz, p_system jsonb)
returns jsonb
language plpgsql stable parallel safe as $$
declare
    v_moves jsonb := coalesce(p_system -> 'Moves', '[]');
begin
    return jsonb_build_object('EnteredBy', p_what, 'Moves',
        case when jsonb_array_length(v_moves) >= 40 then v_moves - 0 else v_moves end || jsonb_strip_nulls(
            jsonb_build_object('n', coalesce((v_moves -> -1 ->> 'n')::int, 0) + 1, 'what', p_what,
                'at', queue.epoch_ms(p_at), 'from', p_arn, 'number', p_public_id, 'id', p_message_id,
                'receives', p_receive_count, 'first', queue.epoch_ms(p_first_received_at))))
        || queue.first_send(p_system, p_sent_at, p_arn);
end $$;

-- queue.move_system: returns the system attributes of a message that a move task takes out of a queue and gives a new
-- message id. Removes the attributes about the dead-letter queue and the receives. The parameters are those of
-- add_move.
create or replace function queue.move_system(
    p_arn text, p_public_id bigint, p_message_id text, p_sent_at timestamptz, p_receive_count int,
    p_first_received_at timestamptz, p_system jsonb)
returns jsonb
language sql volatile
return coalesce(p_system, '{}') - 'DeadLetterQueueSourceArn' - 'ApproximateReceiveCount'
    - 'ApproximateFirstReceiveTimestamp' || queue.add_move('moved', clock_timestamp(), p_arn, p_public_id, p_message_id,
        p_sent_at, p_receive_count, p_first_received_at, p_system);

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

-- queue.send_moved: sends the messages that a move task removed from a standard queue. The messages have new ids and
-- times, the target queue's delay, and no attribute PenstockError. `p_systems` has the system attributes of each
-- message (move_system), because `p_messages` omits those that clients do not see. Does not check the messages' size.
-- Raises QU001 if another transaction has deleted a target. The caller then undoes the step, and the next step reports
-- the missing target. Takes the locks of send_messages.
create or replace function queue.send_moved(
    p_queue_id int, p_targets text[], p_messages queue.received_row[], p_systems jsonb[])
returns void
language plpgsql as $$
declare
    v_message_ids uuid[] := array(select gen_random_uuid() from unnest(p_targets));
    v_numbers bigint[];
begin
    v_numbers := array(
        select s.id from queue.send_messages(
            p_queues => p_targets,
            p_message_ids => v_message_ids,
            p_bodies => array(select m.body from unnest(p_messages) with ordinality m order by m.ordinality),
            p_sizes => array_fill(0, array[cardinality(p_targets)]),
            p_attributes => array(
                select queue.without_error(m.attributes::jsonb) from unnest(p_messages) with ordinality m
                order by m.ordinality),
            p_system => p_systems) s
        where s.error is null order by s.n);
    if cardinality(v_numbers) <> cardinality(p_targets) then
        raise exception 'the queue to which the messages move was deleted' using errcode = 'QU001';
    end if;
    perform queue.note_canary(p_queue_id, p_targets, v_numbers, v_message_ids);
end $$;

-- queue.note_canary: stores the first messages of a queue's running task in their new queues, for the user who
-- continues the task after its canary. Each message has an element in each array. The member `sent` is the time of
-- sending in milliseconds, by which the history knows how the message ended. The caller has locked the task.
create or replace function queue.note_canary(
    p_queue_id int, p_targets text[], p_numbers bigint[], p_message_ids uuid[])
returns void
language sql as $$
update queue.move_task t
set canary_messages = t.canary_messages || (
    select jsonb_agg(jsonb_build_object('arn', u.arn, 'number', u.number, 'id', u.id, 'sent', (
        select queue.epoch_ms(m.sent_at)
        from queue.queues q cross join lateral queue.stored_message(q.queue_id, u.number) m
        where q.arn = u.arn)) order by u.n)
    from unnest(p_targets, p_numbers, p_message_ids) with ordinality u(arn, number, id, n)
    where u.n <= 3 - jsonb_array_length(t.canary_messages))
where t.queue_id = p_queue_id and t.status = 'RUNNING' and t.canary is not null and t.continued_at is null
    and jsonb_array_length(t.canary_messages) < 3 and cardinality(p_numbers) > 0
$$;

-- queue.move_side_rows: moves messages from the side table (queue.side). Returns the number of moved messages. If
-- p_destination is null, each message moves to the queue that it came from. The messages arrive in the order in which
-- they became visible. The caller has locked the messages.
create or replace function queue.move_side_rows(p_queue_id int, p_places tid[], p_destination text) returns int
language plpgsql as $$
declare
    v_taken record;
    v_now timestamptz := clock_timestamp();
    v_arn text := (select q.arn from queue.queues q where q.queue_id = p_queue_id);
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
        array_agg(d order by g.visible_at, g.id) as messages,
        array_agg(queue.move_system(v_arn, d.public_id, d.message_id, g.sent_at, g.receive_count, g.first_received_at,
            g.system) order by g.visible_at, g.id) as systems
    into v_taken from gone g cross join lateral queue.build_received_row(p_side => g::queue.side) d;
    if v_taken.moved > 0 then
        perform queue.send_moved(p_queue_id, v_taken.targets, v_taken.messages, v_taken.systems);
    end if;
    return v_taken.moved;
end $$;
