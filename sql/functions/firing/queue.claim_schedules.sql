-- queue.claim_schedules(limit): locks up to p_limit schedules that are due, until the caller's transaction ends. The
-- caller computes the occurrences that fire, calls fire_schedules and commits. Other workers skip the locked schedules.
-- If the caller dies, the transaction ends after 10 seconds and nothing has happened.
-- Returns a row a schedule, in the order of penstock.scheduler.firing.plan.Due; now is the database's time, the only
-- one that counts; topic: the ARN, when the target is a topic of SNS, whose messages are signed before they are sent.
-- Locks: the schedules, skipped when another worker has them. The transaction waits 250 ms for further locks (FIFO
-- groups).
-- Index: schedule_due. Called by: the worker `fire`.
create or replace function queue.claim_schedules(p_limit int)
returns table (
    now timestamptz, schedule_id bigint, door text, form text, canonical text, timezone text, anchor_at timestamptz,
    end_at timestamptz, window_seconds int, catchup boolean, catchup_limit int, max_age_seconds int,
    next_fire_at timestamptz, topic text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
begin
    perform queue.require_read_committed();
    perform set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '250ms', true);
    return query
    select v_now, s.schedule_id, s.door, s.form, s.canonical, s.timezone, s.anchor_at, s.end_at,
        queue.schedule_window(s), s.catchup, s.catchup_limit,
        coalesce((s.target -> 'RetryPolicy' ->> 'MaximumEventAgeInSeconds')::int, 86400), s.next_fire_at,
        case when queue.target_kind(s.target) = 'topic' then s.target ->> 'Arn' end
    from queue.schedule s
    where s.status = 'active' and s.due_at <= v_now
    order by s.due_at limit p_limit for no key update skip locked;
end $$;
