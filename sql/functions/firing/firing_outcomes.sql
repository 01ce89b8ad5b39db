-- Outcomes of firings: failures, counts and runs that do not fire.

-- queue.failure_text: returns the text of a failure for users. For an error that Penstock raised, the text is its
-- message. For any other error, the text contains only the SQLSTATE.
create or replace function queue.failure_text(p_sqlstate text, p_message text) returns text
language sql immutable parallel safe
return case when left(p_sqlstate, 2) = 'QU' then p_message else 'internal error ' || p_sqlstate end;

-- queue.is_server_error: returns whether the server or the transaction, not the statement, caused an error. Errors of
-- the server have the classes 40 (deadlocks and failed serializations), 53 (no resources), 57 (shutdowns), 58 (the
-- system) and XX (bugs).
create or replace function queue.is_server_error(p_sqlstate text) returns boolean
language sql immutable parallel safe
return left(p_sqlstate, 2) in ('40', '53', '57', '58', 'XX');

-- queue.record_firings: counts firings with any outcome for QUOTA_FIRINGS_PER_SECOND. Each schedule or retry has an
-- element in each array.
create or replace function queue.record_firings(p_accounts text[], p_numbers int[]) returns void
language sql as $$
insert into queue.recent_firing (account_id, number)
select u.account_id, sum(u.number) from unnest(p_accounts, p_numbers) u(account_id, number)
where u.account_id is not null group by u.account_id having sum(u.number) > 0
$$;

-- queue.record_skipped_run: stores a run for an occurrence that will not fire. The run's error has the reason after the
-- texts of the run's failed attempts. Uses the index schedule_run_once.
create or replace function queue.record_skipped_run(p_schedule_id bigint, p_at timestamptz, p_note text) returns void
language sql as $$
insert into queue.schedule_run as r (schedule_id, scheduled_for, error) values (p_schedule_id, p_at, p_note)
on conflict (schedule_id, scheduled_for) where not out_of_band do update
set error = concat_ws('; ', r.error, excluded.error), recorded_at = excluded.recorded_at where r.fired_at is null
$$;

-- queue.schedule_failure: returns the message attributes of a failed invocation in a dead-letter queue, in SQS's
-- format. "Configuring a schedule's dead-letter queue" (EventBridge Scheduler User Guide) lists the attributes.
create or replace function queue.schedule_failure(
    p_schedule queue.schedule, p_at timestamptz, p_retries int, p_code text, p_error text, p_exhausted text)
returns jsonb
language sql stable as $$
select queue.as_attributes(jsonb_build_object(
    'ERROR_CODE', p_code,
    'ERROR_MESSAGE', p_error,
    'EXECUTION_ID', queue.execution_id((p_schedule).schedule_id, p_at, p_retries + 1),
    'EXHAUSTED_RETRY_CONDITION', p_exhausted,
    'IS_PAYLOAD_TRUNCATED', 'false',
    'RETRY_ATTEMPTS', p_retries::text,
    'SCHEDULED_TIME', queue.schedule_time(p_at),
    'SCHEDULE_ARN', queue.schedule_arn(p_schedule),
    'TARGET_ARN', (p_schedule).target ->> 'Arn'))
$$;

-- queue.give_up_schedule_retry: gives up an invocation if no retries are left, or if the invocation will be too old at
-- the next retry. Returns whether the function gave up the invocation. Sends the invocation to the target's dead-letter
-- queue, with the input as body and the failure as message attributes. If that queue does not exist or refuses the
-- message, the invocation is lost. RetryPolicy allows 0 to 185 retries and 60 to 86,400 seconds, by default the maximum
-- (RetryPolicy, EventBridge Scheduler API Reference). Takes the locks of send_messages.
create or replace function queue.give_up_schedule_retry(p_retry queue.schedule_retry) returns boolean
language plpgsql as $$
declare
    v_exhausted text := case
        when p_retry.retries >= coalesce((p_retry.target -> 'RetryPolicy' ->> 'MaximumRetryAttempts')::int, 185)
            then 'MaximumRetryAttempts'
        when p_retry.due_at > p_retry.expires_at then 'MaximumEventAgeInSeconds' end;
    v_dead_letter_arn text := p_retry.target -> 'DeadLetterConfig' ->> 'Arn';
    v_schedule queue.schedule := jsonb_populate_record(null::queue.schedule, to_jsonb(p_retry));
    v_body text;
    v_attributes jsonb;
begin
    if v_exhausted is null then
        return false;
    end if;
    delete from queue.schedule_retry r where r.retry_id = p_retry.retry_id;
    if v_dead_letter_arn is null then
        return true;
    end if;
    v_body := queue.schedule_input(v_schedule, p_retry.scheduled_for, p_retry.retries + 1);
    v_attributes := queue.schedule_failure(v_schedule, p_retry.scheduled_for, p_retry.retries, p_retry.error_code,
        p_retry.error, v_exhausted);
    perform from queue.send_messages(
        p_queues => array[v_dead_letter_arn], p_message_ids => array[gen_random_uuid()], p_bodies => array[v_body],
        p_sizes => array[queue.message_size(v_body, v_attributes)], p_attributes => array[v_attributes]);
    return true;
end $$;
