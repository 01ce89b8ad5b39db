-- queue.replace_policy(arn, old, new): replaces a queue's access policy if it still is p_old (null: none); null or ''
-- as p_new removes it. Returns one row: replaced, or error QueueDoesNotExist.
-- Called by: AddPermission, RemovePermission, which change a policy that they have read.
create or replace function queue.replace_policy(p_arn text, p_old text, p_new text)
returns table (replaced boolean, error text)
language plpgsql as $$
begin
    update queue.queues q
    set attributes = case when coalesce(p_new, '') = '' then q.attributes - 'Policy'
                          else q.attributes || jsonb_build_object('Policy', p_new) end,
        modified_at = clock_timestamp()
    where q.arn = p_arn and q.attributes ->> 'Policy' is not distinct from p_old;
    return query select found, case when not found and not exists (
        select from queue.queues q where q.arn = p_arn) then 'QueueDoesNotExist' end;
end $$;
