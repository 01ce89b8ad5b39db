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
