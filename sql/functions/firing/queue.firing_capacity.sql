-- queue.firing_capacity: returns how many of an account's schedules or retries can fire now, at most p_limit. An
-- account then fires about p_per_second times in any second. A p_per_second of 0 means no maximum. Does not count
-- batches that other workers fire at the same time. Uses the index recent_firing_account.
create or replace function queue.firing_capacity(p_account_id text, p_per_second int, p_limit int) returns int
language sql volatile
return case when p_per_second = 0 then p_limit else least(p_limit, greatest(0, p_per_second - coalesce((
    select sum(f.number) from queue.recent_firing f
    where f.account_id = p_account_id and f.fired_at > clock_timestamp() - interval '1 second'), 0)))::int end;
