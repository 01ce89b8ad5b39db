-- queue.fire_schedules: fires the schedules that claim_schedules locked, and stores their next occurrences. Simple
-- schedules fire in one batch. Each other schedule fires alone, in a savepoint. If the batch fails, the batch's
-- schedules also fire alone.
--   `p_next_fire_at` is the next occurrence of each schedule, or null after the last occurrence.
--   `p_notes` is the text for last_error if the caller skips occurrences.
--   `p_skipped_at` is the first skipped occurrence, which has a run with the text in p_notes.
--   `p_counts` is the number of occurrences of each schedule that fire now.
--   `p_at` is the time of each occurrence, in the same order.
--   `p_messages` is the message of each occurrence (dispatch_schedule).
-- Returns a row for each schedule. `fired`, `skipped` and `failed` are numbers of occurrences.
--   The outcome `done` means that the occurrences have fired, were skipped (overlap) or failed.
--   The outcome `failed` means that a schedule of the REST API failed. The worker retries the schedule, or the function
--     has paused it at its failure_threshold.
--   The outcome `busy` means that another transaction holds a lock, or that the account has too many deliveries. The
--     schedule is due again in a second, or in ten seconds after too many deliveries.
--   The outcome `unsigned` means that the schedule did not fire. The caller has to sign the messages to topics with the
--     version in `detail`.
-- Raises errors of the whole server (out of space, a deadlock, a shutdown), which undo all firings of the call. Takes
-- the locks of dispatch_schedule.
-- This file also contains fire_occurrence, fire_schedule_batch, schedule_overlaps, message_exists, add_schedule_retry,
-- advance_schedule and fail_schedule.
create or replace function queue.fire_schedules(
    p_schedule_ids bigint[], p_next_fire_at timestamptz[], p_notes text[], p_skipped_at timestamptz[], p_counts int[],
    p_at timestamptz[], p_messages jsonb[])
returns table (schedule_id bigint, outcome text, fired int, skipped int, failed int, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_schedule queue.schedule;
    v_result text;
    v_position int := 0;
    v_in_batch bigint[] := '{}';
begin
    -- One batch for simple schedules
    perform queue.record_firings(array_agg(s.account_id order by u.n), p_counts)
    from unnest(p_schedule_ids) with ordinality u(schedule_id, n)
    left join queue.schedule s on s.schedule_id = u.schedule_id;
    begin
        if 1 = all (p_counts) and coalesce(cardinality(array_remove(p_notes, null)), 0) = 0 then
            v_in_batch := queue.fire_schedule_batch(p_schedule_ids, p_next_fire_at, p_at, p_messages);
        end if;
    exception when others then
        if queue.is_server_error(sqlstate) then
            raise;
        end if;
    end;
    -- A savepoint for each other schedule
    for v_number in 1 .. cardinality(p_schedule_ids) loop
        schedule_id := p_schedule_ids[v_number];
        fired := 0;
        skipped := 0;
        failed := 0;
        detail := null;
        outcome := 'done';
        if schedule_id = any (v_in_batch) then
            fired := 1;
            v_position := v_position + 1;
            return next;
            continue;
        end if;
        select * into v_schedule from queue.schedule s where s.schedule_id = p_schedule_ids[v_number];
        begin
            for v_occurrence in v_position + 1 .. v_position + p_counts[v_number] loop
                v_result := queue.fire_occurrence(v_schedule, p_at[v_occurrence], p_messages[v_occurrence]);
                fired := fired + (v_result = 'fired')::int;
                skipped := skipped + (v_result = 'skipped')::int;
                failed := failed + (v_result = 'failed')::int;
            end loop;
            perform queue.record_skipped_run(v_schedule.schedule_id, p_skipped_at[v_number], p_notes[v_number])
            where p_skipped_at[v_number] is not null;
            perform queue.advance_schedule(v_schedule.schedule_id, p_next_fire_at[v_number], p_notes[v_number], fired,
                failed);
        exception
            when sqlstate 'QU007' then         -- The caller has to sign the message with another version.
                outcome := 'unsigned';
                get stacked diagnostics detail = pg_exception_detail;
            when lock_not_available then
                outcome := 'busy';
                update queue.schedule s set due_at = clock_timestamp() + interval '1 second'
                where s.schedule_id = v_schedule.schedule_id;
            when sqlstate 'QU009' then
                outcome := 'busy';
                update queue.schedule s
                set due_at = clock_timestamp() + interval '10 seconds',
                    last_error = queue.failure_text(sqlstate, sqlerrm)
                where s.schedule_id = v_schedule.schedule_id;
            when others then
                if queue.is_server_error(sqlstate) then
                    raise;
                end if;
                outcome := 'failed';
                fired := 0;
                skipped := 0;
                failed := 1;
                detail := queue.failure_text(sqlstate, sqlerrm);
                perform queue.fail_schedule(v_schedule, p_at[v_position + 1], detail);
        end;
        v_position := v_position + p_counts[v_number];
        return next;
    end loop;
end $$;

-- queue.fire_occurrence: fires one occurrence of a schedule, or stores why the occurrence does not fire. The result is
-- a word:
--   `fired` means that the occurrence has fired.
--   `skipped` means that the occurrence fired before, or that a message of an earlier run still exists (overlap).
--   `failed` means that an invocation of EventBridge Scheduler failed. The worker will retry the invocation, or has
--     given it up.
-- Raises all errors of a schedule of the REST API. For EventBridge Scheduler, raises only QU007, QU008, errors of
-- unavailable locks, and errors of the server. Takes the locks of dispatch_schedule.
create or replace function queue.fire_occurrence(p_schedule queue.schedule, p_at timestamptz, p_message jsonb)
returns text
language plpgsql as $$
declare
    v_code text;
    v_error text;
begin
    if exists (
        select from queue.schedule_run r
        where r.schedule_id = (p_schedule).schedule_id and r.scheduled_for = p_at and not r.out_of_band
            and r.fired_at is not null)
    then
        return 'skipped';
    end if;
    if (p_schedule).overlap = 'skip' and queue.schedule_overlaps(p_schedule) then
        v_error := 'skipped: what an earlier run sent is still there';
    else
        begin
            perform queue.dispatch_schedule(p_schedule, p_at, false, 1, p_message);
        exception when others then
            if (p_schedule).api = 'rest' or sqlstate in ('QU007', 'QU008', '55P03')
                or queue.is_server_error(sqlstate)
            then
                raise;
            end if;
            get stacked diagnostics v_code = pg_exception_detail;
            v_code := coalesce(nullif(v_code, ''), 'InternalError');
            v_error := queue.failure_text(sqlstate, sqlerrm);
        end;
    end if;
    if v_error is not null then
        insert into queue.schedule_run as r (schedule_id, scheduled_for, error)
        values ((p_schedule).schedule_id, p_at, v_error)
        on conflict (schedule_id, scheduled_for) where not out_of_band do update
        set attempts = r.attempts + 1, error = excluded.error, recorded_at = excluded.recorded_at
        where r.fired_at is null;
    end if;
    if v_code is not null then
        perform queue.give_up_schedule_retry(queue.add_schedule_retry(p_schedule, p_at, v_code, v_error));
    end if;
    return case when v_error is null then 'fired' when v_code is null then 'skipped' else 'failed' end;
end $$;

-- queue.fire_schedule_batch: fires simple schedules together, with one statement for each of their messages, runs and
-- rows. Returns the ids of the schedules that fired. A simple schedule belongs to the REST API, sends to a standard
-- queue and has no overlap rule. A simple schedule also has a next occurrence, or is a one-shot schedule, which the
-- function deletes. A batch takes two fifths of the time that separate firings take
-- (docs/decisions/0006-firing-together.md). Raises QU006 or QU008 if one of the schedules cannot fire. After this
-- error, no schedule has fired. Takes the locks of send_messages.
create or replace function queue.fire_schedule_batch(
    p_schedule_ids bigint[], p_next_fire_at timestamptz[], p_at timestamptz[], p_messages jsonb[])
returns bigint[]
language plpgsql as $$
declare
    v_fired bigint[];
    v_failed boolean;
begin
    -- Messages and runs of the simple schedules
    with entry as materialized (
        select row_number() over (order by u.n) as n, s.schedule_id, u.at, m.body, m.attributes, m.size,
            s.target ->> 'queue' as name,
            coalesce(s.target -> 'system', queue.system_attributes(null, u.message ->> 'trace')) as system,
            format('arn:aws:sqs:%s:%s:%s', s.region, s.account_id, s.target ->> 'queue') as arn
        from unnest(p_schedule_ids, p_next_fire_at, p_at, p_messages)
            with ordinality u(schedule_id, next_fire_at, at, message, n)
        join queue.schedule s on s.schedule_id = u.schedule_id
        cross join lateral queue.schedule_message(s, u.at, false) m
        where s.api = 'rest' and s.target ? 'queue' and not queue.is_fifo_name(s.target ->> 'queue')
            and s.overlap = 'allow' and (u.next_fire_at is not null or s.expression_kind = 'fire_at')
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
        cross join lateral queue.send_messages(
            p_queues => a.arns, p_message_ids => a.ids, p_bodies => a.bodies, p_sizes => a.sizes,
            p_attributes => a.attributes, p_system => a.system) s
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
    -- The schedules after their firing
    delete from queue.schedule s
    where s.schedule_id = any (v_fired) and s.expression_kind = 'fire_at';
    update queue.schedule s
    set next_fire_at = u.next_fire_at, fire_count = s.fire_count + 1, last_fired_at = clock_timestamp(),
        due_at = queue.schedule_due_at(s.schedule_id, u.next_fire_at, queue.schedule_window(s)),
        consecutive_failures = 0, last_error = null
    from unnest(p_schedule_ids, p_next_fire_at) u(schedule_id, next_fire_at)
    where s.schedule_id = u.schedule_id and s.schedule_id = any (v_fired);
    return v_fired;
end $$;

-- queue.schedule_overlaps: returns whether a message of the schedule's last run is still in its queue. Messages to an
-- SNS topic do not count. Uses the index schedule_run_schedule.
create or replace function queue.schedule_overlaps(p_schedule queue.schedule) returns boolean
language sql stable as $$
select exists (
    select from (
        select r.message_ids from queue.schedule_run r
        where r.schedule_id = p_schedule.schedule_id and r.fired_at is not null
        order by r.run_id desc limit 1) last
    cross join jsonb_array_elements(last.message_ids) m
    join queue.queues q on q.account_id = p_schedule.account_id and q.region = p_schedule.region
        and q.name = m.value ->> 'queue_name'
    where queue.message_exists(q.queue_id, (m.value ->> 'msg_id')::bigint))
$$;

-- queue.message_exists: returns whether a message still exists, in any state.
create or replace function queue.message_exists(p_queue_id int, p_public_id bigint) returns boolean
language plpgsql stable as $$
declare
    v_shard int := (p_public_id & 255)::int - 2;
    v_id bigint := p_public_id >> 8;
begin
    if v_shard = queue.fifo_shard() then
        return exists (select from queue.fifo_message m where m.id = v_id and m.queue_id = p_queue_id);
    end if;
    return exists (
            select from queue.side s where s.queue_id = p_queue_id and s.shard = v_shard and s.id = v_id)
        or exists (
            select from queue.log l
            where l.queue_id = p_queue_id and l.shard = v_shard and l.id = v_id and l.id > (
                select max(x.pos) from queue.lease x where x.queue_id = p_queue_id and x.shard = v_shard))
        or exists (
            select from queue.lease x
            where x.queue_id = p_queue_id and x.shard = v_shard and x.pos >= v_id and v_id = any (x.ids));
end $$;

-- queue.add_schedule_retry: stores a failed invocation for retries, and returns the stored row. The schedule's
-- RetryPolicy applies. The age of the invocation starts at the end of the flexible window.
create or replace function queue.add_schedule_retry(
    p_schedule queue.schedule, p_at timestamptz, p_code text, p_error text)
returns queue.schedule_retry
language plpgsql as $$
declare
    v_retry queue.schedule_retry;
begin
    insert into queue.schedule_retry (schedule_id, account_id, region, group_name, name, target, scheduled_for,
        expires_at, due_at, error_code, error)
    values (p_schedule.schedule_id, p_schedule.account_id, p_schedule.region, p_schedule.group_name, p_schedule.name,
        p_schedule.target, p_at, p_at + interval '1 second' * (queue.schedule_window(p_schedule)
            + coalesce((p_schedule.target -> 'RetryPolicy' ->> 'MaximumEventAgeInSeconds')::int, 86400)),
        clock_timestamp() + interval '1 second', p_code, p_error)
    returning * into v_retry;
    return v_retry;
end $$;

-- queue.advance_schedule: stores a schedule's next occurrence and the outcomes of earlier occurrences. If no occurrence
-- remains, deletes a one-shot schedule of the REST API, and pauses other schedules of the REST API. Deletes a finished
-- schedule of EventBridge Scheduler if its ActionAfterCompletion is DELETE. Locks the schedule.
create or replace function queue.advance_schedule(
    p_schedule_id bigint, p_next_fire_at timestamptz, p_note text, p_fired int, p_failed int) returns void
language plpgsql as $$
begin
    if p_next_fire_at is null then
        delete from queue.schedule s
        where s.schedule_id = p_schedule_id
            and case when s.api = 'rest' then s.expression_kind = 'fire_at'
                else coalesce(s.action_after_completion = 'DELETE', false) end;
        if found then
            return;
        end if;
    end if;
    update queue.schedule s
    set next_fire_at = p_next_fire_at,
        due_at = queue.schedule_due_at(s.schedule_id, p_next_fire_at, queue.schedule_window(s)),
        status = case when p_next_fire_at is null and s.api = 'rest' then 'paused' else s.status end,
        last_fired_at = case when p_fired > 0 then clock_timestamp() else s.last_fired_at end,
        fire_count = s.fire_count + p_fired,
        consecutive_failures = case when p_failed > 0 then s.consecutive_failures + p_failed
            when p_fired > 0 then 0 else s.consecutive_failures end,
        last_error = case when p_note is not null then p_note
            when p_next_fire_at is null and s.api = 'rest' then 'no future occurrence'
            when p_failed > 0 then (
                select r.error from queue.schedule_run r
                where r.schedule_id = p_schedule_id and r.error is not null order by r.run_id desc limit 1)
            when p_fired > 0 then null else s.last_error end
    where s.schedule_id = p_schedule_id;
end $$;

-- queue.fail_schedule: records that the target of a REST API schedule refused an occurrence. The worker retries the
-- occurrence after 1, 2, 4, … 60 seconds. At the failure_threshold, the function pauses the schedule. Locks the
-- schedule.
create or replace function queue.fail_schedule(p_schedule queue.schedule, p_at timestamptz, p_error text) returns void
language plpgsql as $$
declare
    v_failures int := p_schedule.consecutive_failures + 1;
begin
    insert into queue.schedule_run as r (schedule_id, scheduled_for, error)
    values (p_schedule.schedule_id, p_at, p_error)
    on conflict (schedule_id, scheduled_for) where not out_of_band do update
    set attempts = r.attempts + 1, error = excluded.error, recorded_at = excluded.recorded_at
    where r.fired_at is null;
    update queue.schedule s
    set consecutive_failures = v_failures, last_error = p_error,
        status = case when v_failures >= s.failure_threshold then 'paused' else s.status end,
        due_at = clock_timestamp() + least(60, power(2, least(v_failures, 10) - 1)) * interval '1 second'
    where s.schedule_id = p_schedule.schedule_id;
end $$;
