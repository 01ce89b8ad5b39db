-- queue.count_platform_endpoints: adds changes to the accounts' numbers of endpoints. A negative change counts removed
-- endpoints. Each number has several parts. A part can be negative, but the sum of all parts cannot. Locks rows of
-- queue.platform_endpoint_count until commit, in the order of the accounts. Callers lock endpoints before they call
-- this function.
create or replace function queue.count_platform_endpoints(p_accounts text[], p_changes bigint[]) returns void
language sql as $$
insert into queue.platform_endpoint_count as c (account_id, part, endpoints)
select u.account_id, pg_backend_pid() % 8, sum(u.change)
from unnest(p_accounts, p_changes) u(account_id, change) group by u.account_id order by u.account_id
on conflict (account_id, part) do update set endpoints = c.endpoints + excluded.endpoints
$$;
