-- queue.delete_schedule: deletes a schedule of the caller's account and region, inside the caller's transaction.
-- Returns false if the schedule does not exist. SQL interface.
create or replace function queue.delete_schedule(name text) returns boolean
language sql volatile security definer set search_path = pg_catalog, queue, pg_temp as $$
with deleted as materialized (
    select d.dropped,
        format('arn:aws:scheduler:%s:%s:schedule/default/%s', c.region, c.account_id, delete_schedule.name) as arn
    from queue.caller_account() c, queue.drop_schedule(c.account_id, c.region, 'default', delete_schedule.name) d),
noted as materialized (
    select queue.audit_sql('scheduler:DeleteSchedule', a.arn, '{}', 1, a.dropped) from deleted a)
select a.dropped from deleted a, noted
$$;
