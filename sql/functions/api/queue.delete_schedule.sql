-- queue.delete_schedule(name): deletes a schedule of the caller's account and region inside the caller's transaction.
-- Returns false if the schedule does not exist. SQL interface.
create or replace function queue.delete_schedule(name text) returns boolean
language sql volatile security definer set search_path = pg_catalog, queue, pg_temp as $$
select d.dropped
from queue.caller_account() c, queue.drop_schedule(c.account_id, c.region, 'default', delete_schedule.name) d
$$;
