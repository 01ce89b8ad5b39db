-- queue.tag_queue: adds tags or replaces their values. A queue can have at most p_limit tags. `error` is
-- QueueDoesNotExist or TooManyTags, and `detail` is the queue's name.
-- This file also contains untag_queue.
create or replace function queue.tag_queue(p_arn text, p_tags jsonb, p_limit int)
returns table (error text, detail text)
language plpgsql as $$
declare
    v_name text;
    v_count int;
begin
    select q.name, (select count(*) from jsonb_object_keys(q.tags || p_tags)) into v_name, v_count
    from queue.queues q where q.arn = p_arn for update;
    if v_count <= p_limit then
        update queue.queues q set tags = q.tags || p_tags where q.arn = p_arn;
    end if;
    return query select case when v_name is null then 'QueueDoesNotExist' when v_count > p_limit then 'TooManyTags' end,
        v_name;
end $$;

-- queue.untag_queue: removes tags. Ignores missing keys. `error` is QueueDoesNotExist or null.
create or replace function queue.untag_queue(p_arn text, p_keys text[]) returns table (error text)
language plpgsql as $$
begin
    update queue.queues q set tags = q.tags - p_keys where q.arn = p_arn;
    return query select case when not found then 'QueueDoesNotExist' end;
end $$;
