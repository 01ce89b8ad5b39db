-- queue.add_default_group: inserts the row of the schedule group `default` if it is missing. Every account has this
-- group, and the first read inserts the group's row.
create or replace function queue.add_default_group(p_account_id text, p_region text) returns void
language sql as $$
insert into queue.schedule_group (account_id, region, name)
select p_account_id, p_region, 'default'
where not exists (
    select from queue.schedule_group g
    where g.account_id = p_account_id and g.region = p_region and g.name = 'default')
on conflict do nothing
$$;
