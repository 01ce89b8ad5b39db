-- queue.describe_queue: returns a queue's attributes, tags and times and, with p_with_counts, its counts. Returns no
-- row for an unknown queue.
-- This file also contains list_queue_page.
create or replace function queue.describe_queue(p_arn text, p_with_counts boolean)
returns table (name text, fifo boolean, attributes text, tags text, created_at_ms bigint, modified_at_ms bigint,
    visible bigint, in_flight bigint, delayed bigint, oldest_age_seconds bigint, newest_age_seconds bigint,
    total_messages bigint)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_counts record;
begin
    select * into v_queue from queue.queues q where q.arn = p_arn;
    if v_queue.queue_id is null then
        return;
    end if;
    select null::bigint as visible, null::bigint as in_flight, null::bigint as delayed, null::bigint as total,
        null::timestamptz as oldest, null::timestamptz as newest into v_counts;
    if p_with_counts then
        select * into v_counts from queue.count_messages(v_queue.queue_id, v_queue.fifo, v_queue.shards);
    end if;
    return query
    select v_queue.name, v_queue.fifo, v_queue.attributes::text, v_queue.tags::text,
        queue.epoch_ms(v_queue.created_at), queue.epoch_ms(v_queue.modified_at), v_counts.visible, v_counts.in_flight,
        v_counts.delayed, date_part('epoch', clock_timestamp() - v_counts.oldest)::bigint,
        date_part('epoch', clock_timestamp() - v_counts.newest)::bigint, v_counts.total;
end $$;

-- queue.list_queue_page: returns names of an account's queues in a region, in order. `p_after` restricts the result to
-- later names. Null means all names.
create or replace function queue.list_queue_page(
    p_account_id text, p_region text, p_prefix text, p_after text, p_limit int)
returns table (name text, fifo boolean, created_at_ms bigint)
language sql stable as $$
select q.name, q.fifo, queue.epoch_ms(q.created_at)
from queue.queues q
where q.account_id = p_account_id and q.region = p_region and q.name > coalesce(p_after, '')
    and starts_with(q.name, coalesce(p_prefix, ''))
order by q.name
limit p_limit
$$;
