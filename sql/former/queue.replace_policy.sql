-- queue.replace_policy(arn, old, new): leaves the queue's subscriptions as they are.
-- Called by: AddPermission, RemovePermission of the previous release.
create or replace function queue.replace_policy(p_arn text, p_old text, p_new text)
returns table (replaced boolean, error text)
language sql as $$
select * from queue.replace_policy(p_arn, p_old, p_new, null, null)
$$;
