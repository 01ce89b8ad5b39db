-- queue.claim_schedule_retries: locks up to p_limit failed invocations whose retry is due. The locks last until the
-- caller's transaction ends. Accounts share p_limit equally, so one account's failing targets do not delay other
-- accounts (claim_schedules).
--   `target` is the target if the caller builds its message (needs_built_message).
--   `input` is the text for the target.
--   `name` is the name of the schedule.
-- Skips rows that another worker has locked. Uses the index schedule_retry_account_due.
create or replace function queue.claim_schedule_retries(p_limit int, p_per_second int default 0)
returns table (retry_id bigint, target jsonb, input text, name text, account_id text, region text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_accounts text[];
    v_ids bigint[];
begin
    perform queue.require_read_committed();
    perform set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '250ms', true);
    with recursive accounts(account_id) as (    -- The query reads one index entry for each account.
        (select r.account_id from queue.schedule_retry r order by r.account_id limit 1)
        union all
        select (select r.account_id from queue.schedule_retry r
                where r.account_id > a.account_id order by r.account_id limit 1)
        from accounts a where a.account_id is not null)
    select array_agg(a.account_id) into v_accounts from accounts a
    where exists (select from queue.schedule_retry r where r.account_id = a.account_id and r.due_at <= v_now);
    v_ids := array(
        select c.retry_id
        from (select u.account_id from unnest(v_accounts) u(account_id) order by random() limit p_limit) a
        cross join lateral (
            select r.retry_id from queue.schedule_retry r
            where r.account_id = a.account_id and r.due_at <= v_now
            order by r.due_at
            limit queue.firing_capacity(a.account_id, p_per_second, greatest(1, p_limit / cardinality(v_accounts)))
            for update skip locked) c);
    return query
    select r.retry_id, case when queue.needs_built_message(r.target) then r.target end,
        queue.schedule_input(jsonb_populate_record(null::queue.schedule, to_jsonb(r)), r.scheduled_for, r.retries + 2),
        r.name, r.account_id, r.region
    from queue.schedule_retry r
    where r.retry_id = any (v_ids)
    order by r.due_at;
end $$;
