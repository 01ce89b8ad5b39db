-- queue.untag_queue(arn, keys): removes tags; a key that is not there is no error.
-- Returns one row: error QueueDoesNotExist or null.
create or replace function queue.untag_queue(p_arn text, p_keys text[]) returns table (error text)
language plpgsql as $$
begin
    update queue.queues q set tags = q.tags - p_keys where q.arn = p_arn;
    return query select case when not found then 'QueueDoesNotExist' end;
end $$;
