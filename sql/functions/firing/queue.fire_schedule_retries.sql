-- queue.fire_schedule_retries: retries the invocations that claim_schedule_retries has locked, each in its own
-- savepoint. If an invocation fails, the function schedules the next retry after 2, 4, 8, … 300 seconds, or gives the
-- invocation up. AWS documents only that the delay grows exponentially. `outcome` is `fired`, `failed` (a retry
-- follows), `exhausted` (no retry follows), or `busy` or `unsigned` as in fire_schedules. Takes the locks of
-- dispatch_schedule.
create or replace function queue.fire_schedule_retries(p_retry_ids bigint[], p_messages jsonb[])
returns table (retry_id bigint, outcome text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_retry queue.schedule_retry;
    v_code text;
    v_error text;
begin
    perform queue.record_firings(array_agg(r.account_id), array_agg(1))
    from queue.schedule_retry r where r.retry_id = any (p_retry_ids);
    for v_n in 1 .. cardinality(p_retry_ids) loop
        select * into v_retry from queue.schedule_retry r where r.retry_id = p_retry_ids[v_n];
        retry_id := v_retry.retry_id;
        detail := null;
        begin
            perform queue.dispatch_schedule(jsonb_populate_record(null::queue.schedule, to_jsonb(v_retry)),
                v_retry.scheduled_for, false, v_retry.retries + 2, p_messages[v_n]);
            update queue.schedule s
            set fire_count = s.fire_count + 1, last_fired_at = clock_timestamp(), last_error = null,
                consecutive_failures = 0
            where s.schedule_id = v_retry.schedule_id;
            delete from queue.schedule_retry r where r.retry_id = v_retry.retry_id;
            outcome := 'fired';
        exception
            when sqlstate 'QU007' then
                outcome := 'unsigned';
                get stacked diagnostics detail = pg_exception_detail;
            when lock_not_available then
                outcome := 'busy';
                update queue.schedule_retry r set due_at = clock_timestamp() + interval '1 second'
                where r.retry_id = v_retry.retry_id;
            when sqlstate 'QU008' then      -- An earlier attempt fired this run, so this attempt sent no message.
                outcome := 'fired';
                delete from queue.schedule_retry r where r.retry_id = v_retry.retry_id;
            when others then
                if queue.is_server_error(sqlstate) then
                    raise;
                end if;
                get stacked diagnostics v_code = pg_exception_detail;
                v_error := queue.failure_text(sqlstate, sqlerrm);
                update queue.schedule_retry r
                set retries = r.retries + 1, error_code = coalesce(nullif(v_code, ''), 'InternalError'),
                    error = v_error,
                    due_at = clock_timestamp() + least(300, power(2, least(r.retries + 1, 10))) * interval '1 second'
                where r.retry_id = v_retry.retry_id
                returning * into v_retry;
                update queue.schedule_run u
                set attempts = u.attempts + 1, error = v_error, recorded_at = clock_timestamp()
                where u.schedule_id = v_retry.schedule_id and u.scheduled_for = v_retry.scheduled_for
                    and not u.out_of_band;
                outcome := case when queue.give_up_schedule_retry(v_retry) then 'exhausted' else 'failed' end;
        end;
        return next;
    end loop;
end $$;
