-- queue.unbind(account, region, pattern, id): removes a binding. Returns one row: whether there was one.
-- Called by: DELETE /v1/events/{pattern}/subscriptions/{id}.
create or replace function queue.unbind(p_account_id text, p_region text, p_pattern text, p_binding_id bigint)
returns table (removed boolean)
language plpgsql as $$
begin
    delete from queue.binding b
    where b.account_id = p_account_id and b.region = p_region and b.pattern = p_pattern
        and b.binding_id = p_binding_id;
    return query select found;
end $$;
