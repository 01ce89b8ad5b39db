-- queue.fire_schedules: fires the schedules that claim_schedules locked in this transaction, and stores their next
-- occurrences. Simple schedules fire in one batch; the others, and all when the batch fails, fire each in a savepoint.
-- Parameters, one array element a schedule: id; the next occurrence (null: none); the text for last_error, when
--   occurrences are skipped, and the first of these, which gets a run with this text; how many occurrences fire now. Then
--   one element an occurrence, in the same order: its time; its topic message, as dispatch_schedule describes it.
-- Returns a row a schedule: outcome "done" with how many fired, were skipped (overlap) or failed; "failed": a native
--   schedule, which is retried, or paused at its failure_threshold; "busy": another transaction holds a lock that it
--   needs, and it is due again in a second, or its account has too many webhooks, and it is due again in ten; "unsigned": nothing happened, its topic messages have to be signed with the
--   version that detail names.
-- An error of the whole server (out of space, a deadlock, a shutdown) is raised: then nothing has happened.
-- Locks: those of dispatch_schedule.
create or replace function queue.fire_schedules(
    p_schedule_ids bigint[], p_next_fire_at timestamptz[], p_notes text[], p_skipped_at timestamptz[], p_counts int[],
    p_at timestamptz[], p_topic_messages jsonb[])
returns table (schedule_id bigint, outcome text, fired int, skipped int, failed int, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_schedule queue.schedule;
    v_code text;
    v_error text;
    v_position int := 0;
    v_in_batch bigint[] := '{}';
begin
    perform queue.record_firings(array_agg(s.account_id order by u.n), p_counts)
    from unnest(p_schedule_ids) with ordinality u(schedule_id, n)
    left join queue.schedule s on s.schedule_id = u.schedule_id;
    begin
        if 1 = all (p_counts) and coalesce(cardinality(array_remove(p_notes, null)), 0) = 0 then
            v_in_batch := queue.fire_schedule_batch(p_schedule_ids, p_next_fire_at, p_at, p_topic_messages);
        end if;
    exception when others then
        if queue.is_server_error(sqlstate) then
            raise;
        end if;
    end;
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
                if exists (
                    select from queue.schedule_run r
                    where r.schedule_id = v_schedule.schedule_id and r.scheduled_for = p_at[v_occurrence]
                        and not r.out_of_band and r.fired_at is not null)
                then
                    skipped := skipped + 1;
                    continue;
                end if;
                v_code := null;
                v_error := null;
                if v_schedule.overlap = 'skip' and queue.schedule_overlaps(v_schedule) then
                    v_error := 'skipped: what an earlier run sent is still there';
                else
                    begin
                        perform queue.dispatch_schedule(v_schedule, p_at[v_occurrence], false, 1,
                            p_topic_messages[v_occurrence]);
                    exception when others then
                        if v_schedule.door = 'native' or sqlstate in ('QU007', 'QU008', '55P03')
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
                    values (v_schedule.schedule_id, p_at[v_occurrence], v_error)
                    on conflict (schedule_id, scheduled_for) where not out_of_band do update
                    set attempts = r.attempts + 1, error = excluded.error, recorded_at = excluded.recorded_at
                    where r.fired_at is null;
                end if;
                if v_code is not null then
                    perform queue.give_up_schedule_retry(
                        queue.add_schedule_retry(v_schedule, p_at[v_occurrence], v_code, v_error));
                end if;
                fired := fired + (v_error is null)::int;
                skipped := skipped + (v_error is not null and v_code is null)::int;
                failed := failed + (v_code is not null)::int;
            end loop;
            perform queue.record_skipped_run(v_schedule.schedule_id, p_skipped_at[v_number], p_notes[v_number])
            where p_skipped_at[v_number] is not null;
            perform queue.advance_schedule(v_schedule.schedule_id, p_next_fire_at[v_number], p_notes[v_number], fired,
                failed);
        exception
            when sqlstate 'QU007' then         -- the message has to be signed in another version
                outcome := 'unsigned';
                get stacked diagnostics detail = pg_exception_detail;
            when lock_not_available then
                outcome := 'busy';
                update queue.schedule s set due_at = clock_timestamp() + interval '1 second'
                where s.schedule_id = v_schedule.schedule_id;
            when sqlstate 'QU009' then
                outcome := 'busy';
                update queue.schedule s
                set due_at = clock_timestamp() + interval '10 seconds', last_error = queue.failure_text(sqlstate, sqlerrm)
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
