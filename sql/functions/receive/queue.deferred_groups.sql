-- queue.deferred_groups: returns the groups whose deferred messages still wait. Costs one index probe of deferred_pkey
-- for each group.
create or replace function queue.deferred_groups(p_queue_id int) returns table (group_id text)
language sql stable as $$
with recursive found as (
    select (select d.group_id from queue.deferred d where d.queue_id = p_queue_id order by d.group_id limit 1)
    union all
    select (select d.group_id from queue.deferred d where d.queue_id = p_queue_id and d.group_id > f.group_id
            order by d.group_id limit 1)
    from found f where f.group_id is not null)
select f.group_id from found f where f.group_id is not null
$$;
