-- queue.fire_schedule_batch(schedules, next occurrences, occurrences, topic messages): fires all simple schedules with
-- one occurrence, by one statement each for their messages, runs and rows. Simple are native schedules for standard
-- queues, without overlap rules, that have a next occurrence or are one-shots, which are deleted. That takes two fifths
-- of the time that firing one by one takes (docs/decisions/0006-firing-together.md).
-- Returns the ids of the schedules that fired. Raises QU006 or QU008 when one of them cannot fire: then none has fired.
-- Locks: those of send_messages.
create or replace function queue.fire_schedule_batch(
    p_schedule_ids bigint[], p_next_fire_at timestamptz[], p_at timestamptz[], p_topic_messages jsonb[]) returns bigint[]
language plpgsql as $$
declare
    v_fired bigint[];
    v_failed boolean;
begin
    with entry as materialized (
        select row_number() over (order by u.n) as n, s.schedule_id, u.at, m.body, m.attributes, m.size,
            s.target ->> 'queue' as name, coalesce(s.target -> 'system', queue.system_attributes(null, u.topic_message ->> 'trace')) as system,
            format('arn:aws:sqs:%s:%s:%s', s.region, s.account_id, s.target ->> 'queue') as arn
        from unnest(p_schedule_ids, p_next_fire_at, p_at, p_topic_messages)
            with ordinality u(schedule_id, next_fire_at, at, topic_message, n)
        join queue.schedule s on s.schedule_id = u.schedule_id
        cross join lateral queue.schedule_message(s, u.at, false) m
        where s.door = 'native' and s.target ? 'queue' and right(s.target ->> 'queue', 5) <> '.fifo'
            and s.overlap = 'allow' and (u.next_fire_at is not null or s.form = 'fire_at')
            and not exists (
                select from queue.schedule_run r
                where r.schedule_id = u.schedule_id and r.scheduled_for = u.at and not r.out_of_band
                    and r.fired_at is not null)),
    sent as (
        select s.n, s.id, s.error from (
            select array_agg(e.arn order by e.n) as arns, array_agg(gen_random_uuid()) as ids,
                array_agg(e.body order by e.n) as bodies, array_agg(e.size order by e.n) as sizes,
                array_agg(e.attributes order by e.n) as attributes, array_agg(e.system order by e.n) as system
            from entry e) a
        cross join lateral queue.send_messages(a.arns, a.ids, a.bodies, a.sizes, a.attributes, a.system, null, null, null) s
        where a.arns is not null),
    run as (
        insert into queue.schedule_run as r (schedule_id, scheduled_for, fired_at, message_ids)
        select e.schedule_id, e.at, clock_timestamp(),
            jsonb_build_array(jsonb_build_object('queue_name', e.name, 'msg_id', s.id))
        from entry e join sent s on s.n = e.n and s.error is null
        on conflict (schedule_id, scheduled_for) where not out_of_band do update
        set attempts = r.attempts + 1, fired_at = excluded.fired_at, message_ids = excluded.message_ids,
            error = null, recorded_at = excluded.recorded_at
        where r.fired_at is null
        returning r.schedule_id)
    select coalesce(array_agg(r.schedule_id), '{}'), count(*) <> (select count(*) from entry) into v_fired, v_failed
    from run r;
    if v_failed then
        raise exception 'not every schedule of the batch fired' using errcode = 'QU008';
    end if;
    delete from queue.schedule s
    where s.schedule_id = any (v_fired) and s.form = 'fire_at';
    update queue.schedule s
    set next_fire_at = u.next_fire_at, fire_count = s.fire_count + 1, last_fired_at = clock_timestamp(),
        due_at = queue.schedule_due_at(s.schedule_id, u.next_fire_at, queue.schedule_window(s)),
        consecutive_failures = 0, last_error = null
    from unnest(p_schedule_ids, p_next_fire_at) u(schedule_id, next_fire_at)
    where s.schedule_id = u.schedule_id and s.schedule_id = any (v_fired);
    return v_fired;
end $$;
