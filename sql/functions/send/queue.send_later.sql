-- queue.send_later: sends messages as send_messages does, with delays of up to a year for standard queues. SQS delays a
-- message by at most 900 seconds. A message with a longer delay waits as a one-shot schedule of the queue's account.
-- The schedule's name begins with `delayed-`. When the schedule fires, the message enters the queue and receives an id,
-- and the retention period begins. `p_delays` must not be null.
--   `n` is the position of the message, from 1.
--   `id` has the same meaning as in send_messages. Null means that the message waits as a schedule.
--   `schedule` is the schedule's name, or null.
-- Takes the locks of send_messages and put_schedule.
create or replace function queue.send_later(
    p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[], p_attributes jsonb[], p_system jsonb[],
    p_delays int[], p_groups text[], p_deduplication_ids text[])
returns table (n int, id bigint, schedule text, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now int[] := array(
        select u.n from unnest(p_delays) with ordinality u(delay, n) where coalesce(u.delay, 0) <= 900 order by u.n);
    v_at timestamptz;
    v_part text[];
begin
    return query
    select v_now[s.n], s.id, null::text, s.error, s.detail
    from (
        select array_agg(p_queues[i] order by i) as queues, array_agg(p_message_ids[i] order by i) as ids,
            array_agg(p_bodies[i] order by i) as bodies, array_agg(p_sizes[i] order by i) as sizes,
            array_agg(p_attributes[i] order by i) as attributes, array_agg(p_system[i] order by i) as system,
            array_agg(p_delays[i] order by i) as delays, array_agg(p_groups[i] order by i) as groups,
            array_agg(p_deduplication_ids[i] order by i) as deduplication_ids
        from unnest(v_now) i) a
    cross join lateral queue.send_messages(
        p_queues => a.queues, p_message_ids => a.ids, p_bodies => a.bodies, p_sizes => a.sizes,
        p_attributes => a.attributes, p_system => a.system, p_delays => a.delays, p_groups => a.groups,
        p_deduplication_ids => a.deduplication_ids) s
    where a.queues is not null;
    for v_n in 1 .. cardinality(p_queues) loop
        continue when v_n = any (v_now);
        n := v_n;
        id := null;
        schedule := null;
        select case when q.queue_id is null then 'QueueDoesNotExist'
                when p_sizes[n] > q.maximum_message_bytes then 'MessageTooLong' end,
            q.maximum_message_bytes::text
        into error, detail
        from (values (p_queues[n])) u(arn) left join queue.queues q on q.arn = u.arn;
        if error is null then
            v_part := string_to_array(p_queues[n], ':');
            v_at := date_trunc('second',
                clock_timestamp() + p_delays[n] * interval '1 second' + interval '999999 microseconds');
            schedule := 'delayed-' || gen_random_uuid();
            detail := null;
            perform queue.put_schedule(
                p_account_id => v_part[5], p_region => v_part[4], p_group => 'default', p_name => schedule,
                p_mode => 'create',
                p_fields => jsonb_build_object(
                    'api', 'rest', 'expression_kind', 'fire_at', 'expression', queue.schedule_time(v_at),
                    'canonical', queue.schedule_time(v_at), 'timezone', 'UTC', 'target', jsonb_build_object(
                        'queue', v_part[6], 'body', p_bodies[n], 'attributes', coalesce(p_attributes[n], '{}'),
                        'system', coalesce(p_system[n], '{}'))),
                p_next_fire_at => v_at);
        end if;
        return next;
    end loop;
end $$;
