-- queue.read_message: returns what the database has about one message of a queue.
--   `p_public_id` is the message's number in the queue, or null if the queue has no row of the message.
--   `p_message_id` is the message's id, or null if only the number is known.
--   `p_with_audit` is true if the result includes people's acts.
-- The row of the kind `facts` has a JSON object as `detail`, with the known members (message_facts). Each other row is
-- an event:
--   `received` is a recorded receive (queue.receive_trace).
--   `failed` is a stored failure. `detail` is the error.
--   `edited` is the edit that replaced the message by a copy. `arn` is the copy's queue, and `detail` is the copy's id.
--   `edited_from` is the edit that made this message, a copy. `arn` is the original's queue, and `detail` is the
--     original's id.
--   `first_sent` is the first send of a moved message, or of a copy's original.
--   `archived` is the deletion of an archived message, among the queue's last 10,000.
--   `selected` is a task that should move the message by its number. `detail` is the task's id.
--   `moving` is a task that ran when the message was moved into this queue. `detail` is the task's id.
--   `acted` is an act on the message by its number, among the account's last 5,000. `detail` is the action.
-- `arn` is the event's queue. Events of a moved message's former id belong to the message.
-- Returns no row if the queue does not exist, and no row `facts` if nothing is known. Takes no lock.
-- This file also contains message_facts and message_events.
create or replace function queue.read_message(
    p_arn text, p_public_id bigint, p_message_id uuid, p_with_audit boolean)
returns table (kind text, at_ms bigint, arn text, receive_count int, actor text, agent text, detail text)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_facts jsonb;
    v_archived queue.archive;
    v_edit queue.edited_message;
begin
    select * into v_queue from queue.queues q where q.arn = p_arn;
    if v_queue.queue_id is null then
        return;
    end if;
    v_facts := queue.message_facts(v_queue, p_public_id, p_message_id);
    if v_queue.archives or v_facts is null or v_facts ->> 'state' is null then
        select a.* into v_archived from (
            select * from queue.archive r where r.queue_id = v_queue.queue_id
            order by r.archive_id desc limit 10000) a
        where (a.public_id = p_public_id and a.message_id = coalesce(p_message_id, a.message_id))
            or (p_public_id is null and a.message_id = p_message_id)
        order by a.archive_id desc limit 1;
    end if;
    if v_archived.archive_id is not null then
        v_facts := jsonb_build_object('message_id', v_archived.message_id, 'public_id', v_archived.public_id,
            'state', 'deleted', 'sent_ms', queue.epoch_ms(v_archived.sent_at),
            'ended_ms', queue.epoch_ms(v_archived.archived_at), 'receives', v_archived.receive_count)
            || coalesce(jsonb_strip_nulls(v_facts), '{}');
        kind := 'archived'; at_ms := queue.epoch_ms(v_archived.archived_at); arn := p_arn;
        receive_count := v_archived.receive_count;
        return next;
    end if;
    if v_facts ->> 'state' in ('visible', 'in_flight', 'delayed') is not true then
        select e.* into v_edit from queue.edited_message e
        where (e.queue_id = v_queue.queue_id and e.public_id = p_public_id
                and e.message_id = coalesce(p_message_id, e.message_id))
            or (p_public_id is null and e.queue_id = v_queue.queue_id and e.message_id = p_message_id)
        limit 1;
    end if;
    if v_edit.copy_id is not null then
        v_facts := jsonb_build_object('message_id', v_edit.message_id, 'public_id', v_edit.public_id,
            'state', 'deleted', 'sent_ms', v_edit.first_sent_at_ms, 'first_sent_ms', v_edit.first_sent_at_ms,
            'ended_ms', queue.epoch_ms(v_edit.edited_at),
            'receives', v_edit.receive_count, 'total_earlier', v_edit.earlier_receives, 'first_sent_to',
            v_edit.first_sent_to) || coalesce(jsonb_strip_nulls(v_facts), '{}');
        return query
        select 'edited', queue.epoch_ms(v_edit.edited_at), q.arn, null::int, null::text, null::text,
            v_edit.copy_id::text
        from queue.queues q where q.queue_id = v_edit.copy_queue_id and q.account_id = v_queue.account_id;
    end if;
    if v_facts is not null then
        return query select 'facts', null::bigint, p_arn, null::int, null::text, null::text, v_facts::text;
    end if;
    return query
    select * from queue.message_events(v_queue, coalesce(p_public_id, v_archived.public_id, v_edit.public_id),
        coalesce((v_facts ->> 'message_id')::uuid, p_message_id), (v_facts ->> 'moved_from')::uuid,
        case when v_facts ->> 'entered_by' = 'moved' then (v_facts ->> 'entered_ms')::bigint end, p_with_audit);
end $$;

-- queue.message_facts: returns what is known about a message of a queue, or null. If the
-- queue has no row of the message, the first recorded receive says when the message was sent. The members are:
--   `first_sent_ms` and `first_sent_to` (an ARN): the send before all moves and edits
--   `message_id`, `public_id`, `moved_from` (the former message id), `group_id`, `deduplication_id`, `source_arn`
--   `state` as in stored_message, or the outcome in the history; `ended_ms`
--   `sent_ms`, `entered_ms`, `entered_by` (sent, dead_lettered or moved), `visible_ms`
--   `receives`, `first_ms`, `again_ms` (later receives) of this queue
--   `total_earlier` and `first_earlier_ms`: all receives before the message became a dead letter
--   `source_receives`, `source_first_ms`, `source_again_ms`: those of the last source queue, from its history
--   `ended_together`: how many messages of the history could be this message, if it is not clear which one
--   `keeps_history`, `source_keeps_history`, `traces`
create or replace function queue.message_facts(p_queue queue.queues, p_public_id bigint, p_message_id uuid)
returns jsonb
language plpgsql stable as $$
declare
    m record;
    v_trace record;
    v_end record;
    v_source queue.queues;
    v_before record;
    v_by text;
begin
    select * into m from queue.stored_message(p_queue.queue_id, p_public_id) s
    where s.message_id = coalesce(p_message_id, s.message_id);
    select t.public_id, t.sent_at_ms, max(t.recorded_at) as last_at, max(t.receive_count) as receives into v_trace
    from queue.receive_trace t
    where t.message_id = coalesce(m.message_id, p_message_id) and t.queue_id = p_queue.queue_id
        and t.public_id = coalesce(p_public_id, t.public_id)
    group by t.public_id, t.sent_at_ms;
    if m.message_id is null and v_trace.public_id is null then
        return null;
    end if;
    v_by := case when m.message_id is not null then coalesce(queue.entered_by(m.system), 'sent') end;
    -- How the message ended, if its rows do not say so
    select null::bigint as messages, null::text as outcome, null::timestamptz as finished_at into v_end;
    if m.state is null then
        select * into v_end from queue.outcome_in_history(p_queue.queue_id,
            coalesce(queue.epoch_ms(m.sent_at), v_trace.sent_at_ms), null, null,
            greatest(v_trace.last_at, m.entered_at));
    end if;
    -- The receives in the queue from which a dead letter came
    if v_by = 'dead_lettered' then
        select * into v_source from queue.queues q where q.arn = m.system ->> 'DeadLetterQueueSourceArn';
        select * into v_before from queue.outcome_in_history(v_source.queue_id,
            case when not p_queue.fifo then queue.epoch_ms(m.sent_at) end, 'dead_lettered', m.entered_at,
            m.entered_at - interval '1 second');
        if v_before.messages = 0 then   -- The history has a lease's messages once the shard is cleaned (clean_shard).
            select m.sent_at, x.receive_count, x.first_received_at, x.redelivered_at
            into v_before.sent_at, v_before.receive_count, v_before.first_received_at, v_before.redelivered_at
            from (
                select * from queue.lease y where y.queue_id = v_source.queue_id
                order by y.shard desc, y.pos desc limit 5000) x
            where x.outcome = 'dead_lettered' and x.done_at = m.entered_at;
        end if;
    else
        select null::timestamptz as sent_at, null::int as receive_count, null::timestamptz as first_received_at,
            null::timestamptz[] as redelivered_at into v_before;
    end if;
    return jsonb_build_object(
        'message_id', coalesce(m.message_id, p_message_id), 'public_id', coalesce(p_public_id, v_trace.public_id),
        'moved_from', m.system ->> 'MovedFrom', 'first_sent_ms', (m.system ->> 'FirstSentAt')::bigint,
        'first_sent_to', m.system ->> 'FirstSentTo', 'group_id', m.system ->> 'MessageGroupId',
        'deduplication_id', m.system ->> 'MessageDeduplicationId',
        'source_arn', m.system ->> 'DeadLetterQueueSourceArn', 'state', coalesce(m.state, v_end.outcome),
        'ended_ms', queue.epoch_ms(coalesce(m.ended_at, v_end.finished_at)),
        -- A dead letter in a FIFO queue has the time at which it became a dead letter as its time of sending.
        'sent_ms', case when v_by = 'dead_lettered' and p_queue.fifo then queue.epoch_ms(v_before.sent_at)
            else coalesce(queue.epoch_ms(m.sent_at), v_trace.sent_at_ms) end,
        'entered_ms', queue.epoch_ms(m.entered_at), 'entered_by', v_by, 'visible_ms', queue.epoch_ms(m.visible_at),
        'receives', coalesce(m.receive_count, v_trace.receives), 'first_ms', queue.epoch_ms(m.first_received_at),
        'again_ms', (select jsonb_agg(queue.epoch_ms(u.at) order by u.n)
            from unnest(m.redelivered_at) with ordinality u(at, n)),
        'total_earlier', (m.system ->> 'ApproximateReceiveCount')::int,
        'first_earlier_ms', (m.system ->> 'ApproximateFirstReceiveTimestamp')::bigint,
        'source_receives', v_before.receive_count, 'source_first_ms', queue.epoch_ms(v_before.first_received_at),
        'source_again_ms', (select jsonb_agg(queue.epoch_ms(u.at) order by u.n)
            from unnest(v_before.redelivered_at) with ordinality u(at, n)),
        'ended_together', nullif(v_end.messages, 1), 'keeps_history', p_queue.keeps_history,
        'source_keeps_history', v_source.keeps_history, 'traces', p_queue.traces);
end $$;

-- queue.message_events: returns the events of a message (read_message) that tables record by its id or its number.
-- `p_moved_ms` is when the message was moved into the queue, or null. Uses the indexes receive_trace_pkey,
-- failure_pkey, edited_message_pkey, move_task_queue and audit_account_id.
create or replace function queue.message_events(
    p_queue queue.queues, p_public_id bigint, p_message_id uuid, p_former_id uuid, p_moved_ms bigint,
    p_with_audit boolean)
returns table (kind text, at_ms bigint, arn text, receive_count int, actor text, agent text, detail text)
language sql stable as $$
with acts as materialized (
    select r.* from (
        select * from queue.audit x
        where p_with_audit and x.account_id = p_queue.account_id order by x.audit_id desc limit 5000) r
    where r.target = p_queue.arn and r.error is null)
select 'received', queue.epoch_ms(t.recorded_at), q.arn, t.receive_count, t.caller, t.agent, null::text
from queue.receive_trace t join queue.queues q on q.queue_id = t.queue_id
where t.message_id in (p_message_id, p_former_id) and q.account_id = p_queue.account_id
union all
select 'failed', queue.epoch_ms(f.failed_at), q.arn, f.receive_count, null, null, f.error
from queue.failure f join queue.queues q on q.queue_id = f.queue_id
where f.message_id in (p_message_id, p_former_id) and q.account_id = p_queue.account_id
union all
select n.kind, n.at_ms, q.arn, null, null, null, n.detail
from queue.edited_message e
cross join lateral (
    values ('edited_from', queue.epoch_ms(e.edited_at), e.queue_id, e.message_id::text),
        ('first_sent', e.first_sent_at_ms, (select o.queue_id from queue.queues o where o.arn = e.first_sent_to), null)
    ) n(kind, at_ms, queue_id, detail)
join queue.queues q on q.queue_id = n.queue_id
where e.copy_id in (p_message_id, p_former_id) and q.account_id = p_queue.account_id
    and (n.kind = 'edited_from' or n.at_ms is not null)
union all
select 'selected', queue.epoch_ms(t.started_at), p_queue.arn, null, null, null, t.task_id::text
from queue.move_task t where t.queue_id = p_queue.queue_id and p_public_id = any (t.ids)
union all
select 'moving', queue.epoch_ms(t.started_at), d.arn, null, null, null, t.task_id::text
from queue.queues d join queue.move_task t on t.queue_id = d.queue_id
where d.arn = p_queue.dead_letter_arn and queue.epoch_ms(t.started_at) <= p_moved_ms
    and coalesce(queue.epoch_ms(t.ended_at), p_moved_ms) >= p_moved_ms
    and coalesce(t.destination_arn, p_queue.arn) = p_queue.arn
union all
select 'acted', queue.epoch_ms(a.happened_at), a.target, null, coalesce(a.actor, a.interface), null, a.action
from (
    select r.*, r.details -> 'ids' @> to_jsonb(p_public_id) as is_by_number,
        -- An undo has no numbers, but the id of the deletion.
        r.details ->> 'undone' in (
            select d.details ->> 'deletion' from acts d where d.details -> 'ids' @> to_jsonb(p_public_id)) as is_undo
    from acts r) a
where a.is_by_number or a.is_undo or a.details ->> 'copy_of' = p_public_id::text
$$;
