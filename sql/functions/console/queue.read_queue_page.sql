-- queue.read_queue_page(account, region, search, sort, descending, skip, limit): a page of an account's queues with what was
-- last measured of each. p_search: a part of the name, whatever the case; empty: all. p_sort: name, visible, in_flight,
-- delayed, age or created; queues of which that is not known come last, equal ones by name.
--   total              how many queues the search finds; the same in each row
--   dead_letter_name   its dead-letter queue, if that is the account's own in this region
--   source_name        a queue whose dead-letter queue this is, the first by name; sources: how many
-- Cost: by name, a pass over the names; by another order also over the measurements. Called by: GET /console/queues.
create or replace function queue.read_queue_page(
    p_account_id text, p_region text, p_search text, p_sort text, p_descending boolean, p_skip int, p_limit int)
returns table (name text, arn text, fifo boolean, created_at timestamptz, total bigint, visible bigint, in_flight bigint,
    delayed bigint, oldest_at timestamptz, measured_at timestamptz, dead_letter_name text, source_name text, sources bigint)
language sql stable as $$
with found as materialized (
    select q.queue_id, q.name, q.created_at
    from queue.queues q
    where q.account_id = p_account_id and q.region = p_region
        and (p_search = '' or position(lower(p_search) in lower(q.name)) > 0)),
keyed as (
    select f.queue_id, f.name, case p_sort
        when 'name' then null
        when 'created' then extract(epoch from f.created_at)
        when 'visible' then m.visible
        when 'in_flight' then m.in_flight
        when 'delayed' then m.delayed
        when 'age' then -extract(epoch from m.oldest_at) end as key
    from found f left join queue.measurement m on p_sort not in ('name', 'created') and m.queue_id = f.queue_id),
page as materialized (
    select k.queue_id, row_number() over () as place from (
        select k.queue_id from keyed k
        order by case when p_descending then -k.key else k.key end nulls last,
            case when p_descending and p_sort = 'name' then k.name end desc, k.name
        offset p_skip limit p_limit) k)
select q.name, q.arn, q.fifo, q.created_at, (select count(*) from found), m.visible, m.in_flight, m.delayed, m.oldest_at,
    m.measured_at, d.name, s.name, s.sources
from page p
join queue.queues q on q.queue_id = p.queue_id
left join queue.measurement m on m.queue_id = q.queue_id
left join queue.queues d on d.arn = q.dead_letter_arn and d.account_id = p_account_id and d.region = p_region
left join lateral (
    select min(x.name) as name, count(*) as sources from queue.queues x
    where x.dead_letter_arn = q.arn and x.account_id = p_account_id) s on s.sources > 0
order by p.place
$$;
