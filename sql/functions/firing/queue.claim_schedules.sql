-- queue.claim_schedules(limit, per second): locks up to p_limit schedules that are due, until the caller's transaction
-- ends. Accounts share p_limit equally, so that no account delays another. The others share the places that one account
-- does not need. The function takes the schedules of an account that have waited longest, and at most as many as the
-- account may fire in a second (p_per_second; 0: any number). The caller computes the occurrences that fire, calls
-- fire_schedules and commits. Other workers skip the locked schedules. If the caller dies, the transaction ends after
-- 10 seconds without any effect. Returns a row for each schedule, in the order of penstock.scheduler.firing.plan.Due.
-- now is the time of the database, the only clock that counts. topic: the ARN if the target is an SNS topic, whose
-- messages are signed before they are sent.
-- First it makes the schedules due that rewind_schedules finds, whose next_fire_at is then in the future.
-- Locks: the schedules, skipped if another worker has them. The transaction waits 250 ms for further locks (FIFO
-- groups). Index: schedule_account_due.
create or replace function queue.claim_schedules(p_limit int, p_per_second int default 0)
returns table (
    now timestamptz, schedule_id bigint, api text, expression_kind text, canonical text, timezone text,
    anchor_at timestamptz,
    end_at timestamptz, window_seconds int, catchup boolean, catchup_limit int, max_age_seconds int,
    next_fire_at timestamptz, topic text, name text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_accounts text[];
    v_ids bigint[] := '{}';
    v_of text[] := '{}';        -- the accounts of these schedules
    v_share int;
begin
    perform queue.require_read_committed();
    perform set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '250ms', true);
    perform queue.rewind_schedules(p_limit, v_now);
    with recursive accounts(account_id) as (    -- one step in the index for each account
        (select s.account_id from queue.schedule s where s.status = 'active' order by s.account_id limit 1)
        union all
        select (select s.account_id from queue.schedule s
                where s.status = 'active' and s.account_id > a.account_id order by s.account_id limit 1)
        from accounts a where a.account_id is not null)
    select array_agg(a.account_id) into v_accounts from accounts a
    where exists (
        select from queue.schedule s
        where s.status = 'active' and s.account_id = a.account_id and s.due_at <= v_now);
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
        into v_ids, v_of, v_accounts from claimed c;    -- leaves out accounts that have given all their schedules
    end loop;
    return query
    select v_now, s.schedule_id, s.api, s.expression_kind, s.canonical, s.timezone, s.anchor_at, s.end_at,
        queue.schedule_window(s), s.catchup, s.catchup_limit,
        coalesce((s.target -> 'RetryPolicy' ->> 'MaximumEventAgeInSeconds')::int, 86400), s.next_fire_at,
        case when queue.target_kind(s.target) = 'topic' then s.target ->> 'Arn' end, s.name
    from queue.schedule s
    where s.schedule_id = any (v_ids)
    order by s.due_at;
end $$;

-- queue.rewind_schedules(limit, now): makes schedules due that fired while the database's clock was ahead. The next
-- occurrence of such a schedule may be far away, so that the caller computes it anew. A run that was recorded over ten
-- seconds after p_now betrays that the clock has gone back since. The function sets the time of these runs to p_now, so
-- that it finds each run once. It treats at most p_limit schedules in a call. Retries that wait longer than a retry can
-- wait become due, too. Locks: the schedules and retries,
-- skipped if another transaction has them; the runs. Index: schedule_run_recorded_at, schedule_retry_due.
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
    update queue.schedule_retry r set due_at = p_now     -- a retry waits 300 s at most
    where r.retry_id in (
        select e.retry_id from queue.schedule_retry e where e.due_at > v_ahead + interval '5 minutes'
        for update skip locked);
end $$;
