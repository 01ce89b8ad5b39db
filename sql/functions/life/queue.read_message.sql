-- queue.read_message: returns what the database has about one message of a queue.
--   `p_public_id` is the message's number in the queue, or null if the queue has no row of the message.
--   `p_message_id` is the message's id, or null if only the number is known.
--   `p_with_audit` is true if the result includes people's acts.
-- The row of the kind `facts` has a JSON object as `detail`, with the known members (message_facts). Each other row is
-- an event:
--   `received` is a recorded receive (queue.receive_trace).
--   `first_received` is the first receive in a queue that the message left.
--   `dead_lettered` and `moved` are moves from the queue `source_arn` to the queue `arn`. `receive_count` is the number
--     of receives in the source queue. `detail` is the id of the task, if the source queue still has it.
--   `failed` is a stored failure. `detail` is the error.
--   `edited` is the edit that replaced the message by a copy. `arn` is the copy's queue, and `detail` is the copy's id.
--   `edited_from` is the edit that made this message, a copy. `arn` is the original's queue, and `detail` is the
--     original's id.
--   `first_sent` is the first send of a moved message, or of a copy's original.
--   `archived` is the deletion of an archived message, among the queue's last 10,000.
--   `selected` is a task that should move the message by its number. `detail` is the task's id.
--   `acted` is an act on the message by its number, among the account's last 5,000. `detail` is the action.
-- `arn` is the event's queue. `message_id` is the message's id at that time: a move gives the message a new id.
-- `is_original` is true for an event of the original of an edited copy, or of the original's original.
-- Returns no row if the queue does not exist, and no row `facts` if nothing is known. Takes no lock.
-- This file also contains message_facts, system_facts, message_ids and message_events.
create or replace function queue.read_message(
    p_arn text, p_public_id bigint, p_message_id uuid, p_with_audit boolean)
returns table (kind text, at_ms bigint, arn text, receive_count int, actor text, agent text, detail text,
    message_id uuid, source_arn text, is_original boolean)
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
            'state', 'deleted', 'ended_ms', queue.epoch_ms(v_archived.archived_at),
            'receives', v_archived.receive_count)
            || coalesce(jsonb_strip_nulls(v_facts), '{}') || queue.system_facts(v_archived.system, v_archived.sent_at);
        kind := 'archived'; at_ms := queue.epoch_ms(v_archived.archived_at); arn := p_arn;
        receive_count := v_archived.receive_count; message_id := v_archived.message_id; is_original := false;
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
            v_edit.first_sent_to, 'moves', coalesce(v_edit.moves, '[]'), 'is_known', true)
            -- The first recorded receive knows only the time of the last move.
            || coalesce(jsonb_strip_nulls(v_facts) - 'sent_ms', '{}');
        return query
        select 'edited', queue.epoch_ms(v_edit.edited_at), q.arn, null::int, null::text, null::text,
            v_edit.copy_id::text, v_edit.message_id, null::text, false
        from queue.queues q where q.queue_id = v_edit.copy_queue_id and q.account_id = v_queue.account_id;
    end if;
    if v_facts is not null then
        return query select 'facts', null::bigint, p_arn, null::int, null::text, null::text, v_facts::text,
            (v_facts ->> 'message_id')::uuid, null::text, false;
    end if;
    return query
    select * from queue.message_events(v_queue, coalesce(p_public_id, v_archived.public_id, v_edit.public_id),
        coalesce((v_facts ->> 'message_id')::uuid, p_message_id), v_facts -> 'moves', p_with_audit);
end $$;

-- queue.message_facts: returns what is known about a message of a queue, or null. If the
-- queue has no row of the message, the first recorded receive says when the message was sent. The members are:
--   `first_sent_ms` and `first_sent_to` (an ARN): the send before all moves
--   `moves`: the last moves (add_move)
--   `is_known` is true if a row says whether the message has moved
--   `message_id`, `public_id`, `group_id`, `deduplication_id`, `source_arn`
--   `state` as in stored_message, or the outcome in the history; `ended_ms`
--   `sent_ms` (null for a moved message whose first send is not known), `entered_ms`, `visible_ms`
--   `entered_by` (sent, dead_lettered or moved)
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
            select x.receive_count, x.first_received_at, x.redelivered_at
            into v_before.receive_count, v_before.first_received_at, v_before.redelivered_at
            from (
                select * from queue.lease y where y.queue_id = v_source.queue_id
                order by y.shard desc, y.pos desc limit 5000) x
            where x.outcome = 'dead_lettered' and x.done_at = m.entered_at;
        end if;
    else
        select null::int as receive_count, null::timestamptz as first_received_at,
            null::timestamptz[] as redelivered_at into v_before;
    end if;
    return jsonb_build_object(
        'message_id', coalesce(m.message_id, p_message_id), 'public_id', coalesce(p_public_id, v_trace.public_id),
        'group_id', m.system ->> 'MessageGroupId', 'deduplication_id', m.system ->> 'MessageDeduplicationId',
        'source_arn', m.system ->> 'DeadLetterQueueSourceArn', 'state', coalesce(m.state, v_end.outcome),
        'ended_ms', queue.epoch_ms(coalesce(m.ended_at, v_end.finished_at)),
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
        'source_keeps_history', v_source.keeps_history, 'traces', p_queue.traces)
        || case when m.message_id is not null then queue.system_facts(m.system, m.sent_at)
            else jsonb_build_object('sent_ms', v_trace.sent_at_ms) end;
end $$;

-- queue.system_facts: returns the members of message_facts that come from a message's system attributes, which say what
-- the message was before it entered the queue at p_sent_at.
create or replace function queue.system_facts(p_system jsonb, p_sent_at timestamptz) returns jsonb
language sql stable as $$
select jsonb_strip_nulls(jsonb_build_object('is_known', true, 'moves', p_system -> 'Moves',
    'first_sent_ms', (f.first ->> 'FirstSentAt')::bigint, 'sent_ms', (f.first ->> 'FirstSentAt')::bigint,
    'first_sent_to', case when p_system ? 'EnteredBy' then f.first ->> 'FirstSentTo' end))
from queue.first_send(p_system, p_sent_at, null) f(first)
$$;

-- queue.message_ids: returns the ids that a message has and had, with its moves as in add_move. A row without `n` is
-- the id in the queue p_arn, or the id that an original had when a person edited it. The originals of a copy follow,
-- up to the twentieth.
create or replace function queue.message_ids(p_arn text, p_message_id uuid, p_moves jsonb)
returns table (message_id uuid, is_original boolean, arn text, n int, what text, at_ms bigint, source_arn text,
    public_id bigint, receive_count int, first_ms bigint)
language sql stable as $$
with recursive versions as (
    select 0 as edits, p_message_id as message_id, p_arn as arn, p_moves as moves, null::bigint as public_id
    union all
    select v.edits + 1, e.message_id, q.arn, e.moves, e.public_id
    from versions v
    join queue.edited_message e on v.edits < 20 and (e.copy_id = v.message_id
        or e.copy_id in (select (s.move ->> 'id')::uuid from jsonb_array_elements(v.moves) s(move)))
    left join queue.queues q on q.queue_id = e.queue_id)
select v.message_id, v.edits > 0, v.arn, null, null, null, null, v.public_id, null, null from versions v
union all
select (s.move ->> 'id')::uuid, v.edits > 0,
    coalesce(lead(s.move ->> 'from') over (partition by v.edits order by s.place), v.arn), (s.move ->> 'n')::int,
    s.move ->> 'what', (s.move ->> 'at')::bigint, s.move ->> 'from', (s.move ->> 'number')::bigint,
    (s.move ->> 'receives')::int, (s.move ->> 'first')::bigint
from versions v cross join lateral jsonb_array_elements(v.moves) with ordinality s(move, place)
$$;

-- queue.message_events: returns the events of a message (read_message) that its moves and tables record by its ids or
-- its numbers. Uses the indexes receive_trace_pkey, failure_pkey, edited_message_pkey, move_task_queue and
-- audit_account_id.
create or replace function queue.message_events(
    p_queue queue.queues, p_public_id bigint, p_message_id uuid, p_moves jsonb, p_with_audit boolean)
returns table (kind text, at_ms bigint, arn text, receive_count int, actor text, agent text, detail text,
    message_id uuid, source_arn text, is_original boolean)
language sql stable as $$
with known as materialized (select * from queue.message_ids(p_queue.arn, p_message_id, p_moves)),
ids as materialized (select k.message_id, bool_and(k.is_original) as is_original from known k group by 1),
numbers as materialized (
    select p_queue.arn, p_public_id as public_id, p_message_id as message_id, false as is_original
    where p_public_id is not null
    union
    select coalesce(k.source_arn, k.arn), k.public_id, k.message_id, k.is_original from known k
    where k.public_id is not null),
acts as materialized (
    select r.* from (
        select * from queue.audit x
        where p_with_audit and x.account_id = p_queue.account_id order by x.audit_id desc limit 5000) r
    where r.target in (select u.arn from numbers u) and r.error is null)
select 'received', queue.epoch_ms(t.recorded_at), q.arn, t.receive_count, t.caller, t.agent, null::text, i.message_id,
    null::text, i.is_original
from ids i join queue.receive_trace t on t.message_id = i.message_id join queue.queues q on q.queue_id = t.queue_id
where q.account_id = p_queue.account_id
union all
select 'failed', queue.epoch_ms(f.failed_at), q.arn, f.receive_count, null, null, f.error, i.message_id, null,
    i.is_original
from ids i join queue.failure f on f.message_id = i.message_id join queue.queues q on q.queue_id = f.queue_id
where q.account_id = p_queue.account_id
union all
select n.kind, n.at_ms, q.arn, null, null, null, n.detail,
    case when n.kind = 'edited_from' then i.message_id end, null, i.is_original or n.kind = 'first_sent'
from ids i join queue.edited_message e on e.copy_id = i.message_id
cross join lateral (
    values ('edited_from', queue.epoch_ms(e.edited_at), e.queue_id, e.message_id::text),
        ('first_sent', e.first_sent_at_ms, (select o.queue_id from queue.queues o where o.arn = e.first_sent_to), null)
    ) n(kind, at_ms, queue_id, detail)
join queue.queues q on q.queue_id = n.queue_id
where q.account_id = p_queue.account_id and (n.kind = 'edited_from' or n.at_ms is not null)
union all
select k.what, k.at_ms, k.arn, k.receive_count, null, null, (
        select t.task_id::text from queue.queues s join queue.move_task t on t.queue_id = s.queue_id
        where k.what = 'moved' and s.arn = k.source_arn and queue.epoch_ms(t.started_at) <= k.at_ms
            and coalesce(queue.epoch_ms(t.ended_at), k.at_ms) >= k.at_ms
            and coalesce(t.destination_arn, k.arn) = k.arn
        order by t.started_at desc limit 1),
    k.message_id, k.source_arn, k.is_original
from known k where k.n is not null
union all
select 'first_received', k.first_ms, k.source_arn, 1, null, null, null, k.message_id, null, k.is_original
from known k where k.first_ms is not null
union all
select 'selected', queue.epoch_ms(t.started_at), p_queue.arn, null, null, null, t.task_id::text, p_message_id, null,
    false
from queue.move_task t where t.queue_id = p_queue.queue_id and p_public_id = any (t.ids)
union all
select 'acted', queue.epoch_ms(a.happened_at), a.target, null, coalesce(a.actor, a.interface), null, a.action,
    a.message_id, null, a.is_original
from (
    select r.*, u.message_id, u.is_original, r.details -> 'ids' @> to_jsonb(u.public_id) as is_by_number,
        r.details ->> 'copy_of' = u.public_id::text as is_copied,
        -- An undo has no numbers, but the id of the deletion.
        r.details ->> 'undone' in (
            select d.details ->> 'deletion' from acts d
            where d.target = u.arn and d.details -> 'ids' @> to_jsonb(u.public_id)) as is_undo
    from acts r join numbers u on u.arn = r.target) a
where a.is_by_number or a.is_undo or a.is_copied
$$;
