-- queue.claim_schedules: locks up to p_limit due schedules until the caller's transaction ends. The caller computes the
-- occurrences that fire, calls fire_schedules and commits. If the caller dies, PostgreSQL rolls the transaction back
-- after 10 seconds. Accounts share p_limit equally, so no account delays another account. Other accounts can use the
-- places that an account leaves free. Takes the schedules that have waited longest, at most p_per_second for an
-- account. A p_per_second of 0 means no maximum. Returns a row for each schedule, with the columns in the order of
-- penstock.scheduler.firing.plan.Due.
--   `now` is the database's time, the only clock that counts.
--   `target` is the target if the caller builds its message (needs_built_message).
-- If the clock has gone back, rewind_schedules first makes schedules due whose next_fire_at is in the future. Skips
-- schedules that another worker has locked. The transaction waits 250 ms for other locks (FIFO groups). Uses the index
-- schedule_account_due.
-- This file also contains rewind_schedules.
create or replace function queue.claim_schedules(p_limit int, p_per_second int default 0)
returns table (
    now timestamptz, schedule_id bigint, api text, expression_kind text, canonical text, timezone text,
    anchor_at timestamptz,
    end_at timestamptz, window_seconds int, catchup boolean, catchup_limit int, max_age_seconds int,
    next_fire_at timestamptz, target jsonb, name text, account_id text, region text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_accounts text[];
    v_ids bigint[] := '{}';
    v_of text[] := '{}';        -- The array contains the accounts of the schedules in v_ids.
    v_share int;
begin
    perform queue.require_read_committed();
    perform set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '250ms', true);
    perform queue.rewind_schedules(p_limit, v_now);
    -- The accounts with due schedules
    with recursive accounts(account_id) as (    -- The query reads one index entry for each account.
        (select s.account_id from queue.schedule s where s.status = 'active' order by s.account_id limit 1)
        union all
        select (select s.account_id from queue.schedule s
                where s.status = 'active' and s.account_id > a.account_id order by s.account_id limit 1)
        from accounts a where a.account_id is not null)
    select array_agg(a.account_id) into v_accounts from accounts a
    where exists (
        select from queue.schedule s
        where s.status = 'active' and s.account_id = a.account_id and s.due_at <= v_now);
    -- An equal share for each account, in rounds
    while cardinality(v_ids) < p_limit and cardinality(v_accounts) > 0 loop
        v_share := greatest(1, (p_limit - cardinality(v_ids)) / cardinality(v_accounts));
        with claimed as materialized (
            select a.account_id, c.schedule_id
            from (select u.account_id from unnest(v_accounts) u(account_id)
                  order by random() limit p_limit - cardinality(v_ids)) a
            cross join lateral (
                select s.schedule_id from queue.schedule s
                where s.status = 'active' and s.account_id = a.account_id and s.due_at <= v_now
                    and s.schedule_id <> all (v_ids)
                order by s.due_at
                limit greatest(0, least(v_share, queue.firing_capacity(a.account_id, p_per_second, p_limit)
                    - (select count(*) from unnest(v_of) o where o = a.account_id)))
                for no key update skip locked) c)
        select v_ids || array_agg(c.schedule_id), v_of || array_agg(c.account_id),
            array(select k.account_id from claimed k group by k.account_id having count(*) = v_share)
        into v_ids, v_of, v_accounts from claimed c;    -- The array omits accounts without further schedules.
    end loop;
    return query
    select v_now, s.schedule_id, s.api, s.expression_kind, s.canonical, s.timezone, s.anchor_at, s.end_at,
        queue.schedule_window(s), s.catchup, s.catchup_limit,
        coalesce((s.target -> 'RetryPolicy' ->> 'MaximumEventAgeInSeconds')::int, 86400), s.next_fire_at,
        case when queue.needs_built_message(s.target) then s.target end, s.name, s.account_id, s.region
    from queue.schedule s
    where s.schedule_id = any (v_ids)
    order by s.due_at;
end $$;

-- queue.rewind_schedules: makes schedules due that fired while the database's clock was ahead. The next occurrence of
-- these schedules can be far away, so the caller recomputes the occurrence. If a run was recorded more than ten seconds
-- after p_now, the clock has gone back since then. Sets the time of runs in the future to p_now, so the function finds
-- each run once. Handles at most p_limit schedules in a call. Also makes retries due if they would wait longer than the
-- maximum of 300 seconds. Skips locked schedules and retries. Locks the runs. Uses the indexes schedule_run_recorded_at
-- and schedule_retry_due.
create or replace function queue.rewind_schedules(p_limit int, p_now timestamptz) returns void
language plpgsql as $$
declare
    v_ahead timestamptz := p_now + interval '10 seconds';
    v_ids bigint[];
begin
    if not exists (select from queue.schedule_run r where r.recorded_at > v_ahead) then
        return;
    end if;
    v_ids := array(
        select s.schedule_id from queue.schedule s
        where s.schedule_id in (select r.schedule_id from queue.schedule_run r where r.recorded_at > v_ahead)
        limit p_limit for no key update skip locked);
    update queue.schedule s
    set due_at = case when s.due_at > p_now then p_now else s.due_at end,
        last_fired_at = least(s.last_fired_at, p_now)
    where s.schedule_id = any (v_ids);
    update queue.schedule_run r set recorded_at = p_now
    where r.recorded_at > v_ahead and (
        r.schedule_id = any (v_ids)
        or not exists (select from queue.schedule s where s.schedule_id = r.schedule_id));
    update queue.schedule_retry r set due_at = p_now     -- A retry waits at most 300 seconds.
    where r.retry_id in (
        select e.retry_id from queue.schedule_retry e where e.due_at > v_ahead + interval '5 minutes'
        for update skip locked);
end $$;
