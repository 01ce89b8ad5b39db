-- queue.give_up_deliveries: gives up deliveries. Returns the number of messages that moved to a dead-letter queue.
-- Sends the message of a delivery with a dead-letter queue to that queue, and deletes the delivery. Otherwise, or if
-- that queue refuses the message, the delivery gets the state exhausted.
--   The message of a delivery to a URL is the text that the worker would have posted. A raw message keeps its
--   attributes.
--   The message of a delivery to a gateway or a mail server is in its envelope (notice.head).
--   The message of an invocation by a schedule is the input, with the failure as attributes.
--   Other messages have the delivery's last error as the attribute PenstockError, which does not count in their sizes.
-- The history records the outcome. An outgoing message becomes failed. The caller has locked the deliveries' rows, and
-- deletes the notices. Takes the locks of queue.send_messages.
-- This file also contains function_failure.
create or replace function queue.give_up_deliveries(p_ids bigint[]) returns int
language plpgsql as $$
declare
    v_dead_letters record;
    v_moved bigint[] := '{}';
begin
    select array_agg(d.delivery_id order by d.delivery_id) as ids,
        array_agg(d.dead_letter_arn order by d.delivery_id) as arns,
        array_agg(gen_random_uuid()) as message_ids,
        array_agg(b.body order by d.delivery_id) as bodies,
        array_agg(octet_length(b.body) + coalesce(octet_length(b.attributes::text), 0) order by d.delivery_id) as sizes,
        array_agg(case when n.kind = 'schedule' then b.attributes else queue.with_error(b.attributes, d.last_error) end
            order by d.delivery_id) as attributes,
        -- A FIFO queue also accepts these messages. Each message has a separate group, so no message waits for another
        -- message.
        array_agg(d.delivery_id::text order by d.delivery_id) as groups
    into v_dead_letters
    from queue.outgoing_delivery d join queue.notice n on n.notice_id = d.notice_id
    cross join lateral (
        select case when n.kind in ('gateway', 'mail') then n.head
                when n.kind = 'schedule' then queue.function_input(n, greatest(1, d.attempts))
                else queue.delivery_body(d.raw, d.subscription_arn, n) end as body,
            case when n.kind = 'schedule' then queue.function_failure(d, n)
                when d.raw then n.attributes end as attributes) b
    where d.delivery_id = any (p_ids) and d.dead_letter_arn is not null;
    if v_dead_letters.ids is not null then
        with sent as materialized (
            select v_dead_letters.ids[s.n] as delivery_id, s.error
            from queue.send_messages(
                p_queues => v_dead_letters.arns, p_message_ids => v_dead_letters.message_ids,
                p_bodies => v_dead_letters.bodies, p_sizes => v_dead_letters.sizes,
                p_attributes => v_dead_letters.attributes, p_groups => v_dead_letters.groups,
                p_deduplication_ids => v_dead_letters.groups) s),
        refused as (
            update queue.outgoing_delivery d
            set last_error = concat_ws('; ', d.last_error, 'dead-letter queue: ' || s.error)
            from sent s where d.delivery_id = s.delivery_id and s.error is not null)
        select coalesce(array_agg(s.delivery_id), '{}') into v_moved from sent s where s.error is null;
    end if;
    insert into queue.outgoing_delivery_history (outcome, published_at, attempts)
    select k.outcome, array_agg(k.created_at), array_agg(k.attempts)
    from (
        select case when d.delivery_id = any (v_moved) then 'dead_lettered' else 'exhausted' end as outcome,
            d.created_at, d.attempts
        from queue.outgoing_delivery d where d.delivery_id = any (p_ids)) k
    group by k.outcome;
    update queue.outgoing o set state = 'failed', error = d.last_error
    from queue.outgoing_delivery d where d.delivery_id = any (p_ids) and o.outgoing_id = d.outgoing_id;
    delete from queue.outgoing_delivery d where d.delivery_id = any (v_moved);
    update queue.outgoing_delivery d set state = 'exhausted', lease = null, waiting = false
    where d.delivery_id = any (p_ids) and d.delivery_id <> all (v_moved);
    return cardinality(v_moved);
end $$;

-- queue.function_failure: returns the attributes that describe a schedule's failed invocation in a dead-letter queue.
-- The error code is the last error's text before the colon.
create or replace function queue.function_failure(p_delivery queue.outgoing_delivery, p_notice queue.notice)
returns jsonb
language sql stable as $$
select queue.schedule_failure(jsonb_populate_record(null::queue.schedule, n.schedule -> 'schedule'),
    (n.schedule ->> 'at')::timestamptz, greatest(0, (n.schedule ->> 'earlier_attempts')::int + w.attempts - 1),
    coalesce(substring(w.last_error from '^([A-Za-z]+):'), 'ServiceException'),
    coalesce(w.last_error, ''), case when w.attempts > (w.retry_policy ->> 'MaximumRetryAttempts')::int
        then 'MaximumRetryAttempts' else 'MaximumEventAgeInSeconds' end)
from (select (p_notice).*) n, (select (p_delivery).*) w
$$;
