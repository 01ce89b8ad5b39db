-- queue.read_queue_page: returns a page of an account's queues with their last measurements.
--   `p_search` is a part of the name, in upper or lower case. An empty text means all queues.
--   `p_sort` is trouble, dead, name, visible, in_flight, delayed, age or created. The sort trouble begins with the
--     queues in `p_first`, in that order, and then lists the queues with the most visible messages. The sort dead lists
--     only dead-letter queues, first those in `p_first`, and then those with the most messages.
--   `total` is the number of queues that match the search, for the sort dead of dead-letter queues.
--   `dead_letter_name` is the queue's dead-letter queue, if it belongs to the same account and region.
--   `source_name` is the first queue by name that uses this queue as its dead-letter queue.
--   `sources` is the number of queues that use this queue as their dead-letter queue.
-- Queues without a value come last, and queues with equal values are sorted by name. Reads all names once, and all
-- measurements once unless p_sort is name or p_first fills the page. Uses the indexes
-- queues_account_id_region_name_key, queues_pkey, queues_arn_key and measurement_pkey.
create or replace function queue.read_queue_page(
    p_account_id text, p_region text, p_search text, p_sort text, p_descending boolean,
    p_first text[], p_skip int, p_limit int)
returns table (name text, arn text, fifo boolean, created_at timestamptz, total bigint, visible bigint,
    in_flight bigint,
    delayed bigint, oldest_at timestamptz, measured_at timestamptz, dead_letter_name text, source_name text,
    sources bigint)
language plpgsql stable set jit = off set enable_hashjoin = on set enable_seqscan = on set work_mem = '32MB' as $$
#variable_conflict use_column
declare
    v_names text[];
    v_ids int[];
    v_first int[];
    v_total bigint;
begin
    -- The number of matching queues
    select count(*) into v_total from queue.queues q
    where q.account_id = p_account_id and q.region = p_region
        and queue.matches_search(q.name, p_search);
    -- The queues of the page
    if p_sort = 'name' then
        -- The index contains the names, so the query reads only the rows of the page's queues.
        if p_descending then
            v_names := array(
                select q.name from queue.queues q
                where q.account_id = p_account_id and q.region = p_region
                    and queue.matches_search(q.name, p_search)
                order by q.name desc offset p_skip limit p_limit);
        else
            v_names := array(
                select q.name from queue.queues q
                where q.account_id = p_account_id and q.region = p_region
                    and queue.matches_search(q.name, p_search)
                order by q.name offset p_skip limit p_limit);
        end if;
        v_ids := array(
            select x.queue_id from unnest(v_names) with ordinality p(name, place)
            cross join lateral (
                select * from queue.queues q
                where q.account_id = p_account_id and q.region = p_region and q.name = p.name) x
            order by p.place);
    elsif p_sort = 'dead' then
        select count(*), (array_agg(d.queue_id order by array_position(p_first, d.name), d.messages desc, d.name))[
            p_skip + 1 : p_skip + p_limit] into v_total, v_ids
        from (
            select q.queue_id, q.name, coalesce(m.visible + m.in_flight + m.delayed, 0) as messages
            from queue.queues q left join queue.measurement m on m.queue_id = q.queue_id
            where q.account_id = p_account_id and q.region = p_region and q.arn in (
                    select x.dead_letter_arn from queue.queues x
                    where x.dead_letter_arn is not null and x.account_id = p_account_id)
                and queue.matches_search(q.name, p_search)) d;
    elsif p_sort = 'trouble' then
        -- First the given queues, then queues with visible messages, and then the other queues by name. Most pages end
        -- before the other queues, so these pages sort only the queues with visible messages.
        v_ids := array(
            select q.queue_id from unnest(p_first) with ordinality f(name, place)
            cross join lateral (
                select x.queue_id, x.name from queue.queues x
                where x.account_id = p_account_id and x.region = p_region and x.name = f.name) q
            where queue.matches_search(q.name, p_search)
            order by f.place);
        v_first := v_ids;
        if cardinality(v_ids) < p_skip + p_limit then
            v_ids := v_ids || array(
                select q.queue_id from queue.measurement m join queue.queues q on q.queue_id = m.queue_id
                where m.visible > 0 and q.queue_id <> all (v_first)
                    and q.account_id = p_account_id and q.region = p_region
                    and queue.matches_search(q.name, p_search)
                order by m.visible desc, q.name limit p_skip + p_limit - cardinality(v_ids));
        end if;
        v_ids := v_ids[p_skip + 1 : p_skip + p_limit] || array(
            select q.queue_id from queue.queues q left join queue.measurement m on m.queue_id = q.queue_id
            where q.account_id = p_account_id and q.region = p_region
                and (m.visible > 0) is not true and q.queue_id <> all (v_first)
                and queue.matches_search(q.name, p_search)
            order by q.name
            offset greatest(0, p_skip - cardinality(v_ids))
            limit greatest(0, least(p_limit, p_skip + p_limit - cardinality(v_ids))));
    else
        v_ids := array(
            select k.queue_id from (
                select q.queue_id, q.name, case p_sort
                    when 'created' then extract(epoch from q.created_at)::float8
                    when 'visible' then m.visible
                    when 'in_flight' then m.in_flight
                    when 'delayed' then m.delayed
                    when 'age' then -extract(epoch from m.oldest_at)::float8 end as key
                from queue.queues q left join queue.measurement m on m.queue_id = q.queue_id
                where q.account_id = p_account_id and q.region = p_region
                    and queue.matches_search(q.name, p_search)) k
            order by case when p_descending then -k.key else k.key end nulls last, k.name
            offset p_skip limit p_limit);
    end if;
    -- The columns of these queues
    return query
    select q.name, q.arn, q.fifo, q.created_at, v_total, m.visible, m.in_flight, m.delayed, m.oldest_at, m.measured_at,
        d.name, s.name, s.sources
    from unnest(v_ids) with ordinality p(queue_id, place)
    cross join lateral (select * from queue.queues x where x.queue_id = p.queue_id) q
    left join lateral (select * from queue.measurement x where x.queue_id = q.queue_id) m on true
    left join lateral (
        select x.name from queue.queues x
        where x.arn = q.dead_letter_arn and x.account_id = p_account_id and x.region = p_region) d on true
    left join lateral (
        select min(x.name) as name, count(*) as sources from queue.queues x
        where x.dead_letter_arn = q.arn and x.account_id = p_account_id) s on s.sources > 0
    order by p.place;
end $$;
