-- queue.unsubscribe(pattern, queue): ends what queue.subscribe began. Returns whether there was such a binding.
-- Raises QU001 (undefined queue). SQL interface.
create or replace function queue.unsubscribe(p_pattern text, p_queue_name text) returns boolean
language plpgsql as $$
begin
    delete from queue.binding b
    where b.account_id = '000000000000' and b.region = 'us-east-1' and b.pattern = p_pattern
        and b.protocol = 'queue' and b.endpoint = queue.resolve(p_queue_name);
    return found;
end $$;
