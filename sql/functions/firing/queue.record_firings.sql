-- queue.record_firings: counts firings with any outcome for QUOTA_FIRINGS_PER_SECOND. Each schedule or retry has an
-- element in each array.
create or replace function queue.record_firings(p_accounts text[], p_numbers int[]) returns void
language sql as $$
insert into queue.recent_firing (account_id, number)
select u.account_id, sum(u.number) from unnest(p_accounts, p_numbers) u(account_id, number)
where u.account_id is not null group by u.account_id having sum(u.number) > 0
$$;
