-- queue.policies_changed: returns whether the policy of a queue differs from the policy that the caller read.
-- `p_policies` contains policies by ARN, in JSON. A null policy means that the queue has no policy or does not exist.
-- If p_policies is null, the service does not check policies. Takes shared locks on the queues' rows until commit, so
-- that their policies do not change.
create or replace function queue.policies_changed(p_policies jsonb) returns boolean
language plpgsql as $$
begin
    perform from queue.queues q
    where q.arn in (select k from jsonb_object_keys(p_policies) k) order by q.arn for share;
    return exists (
        select from jsonb_each_text(p_policies) k left join queue.queues q on q.arn = k.key
        where q.attributes ->> 'Policy' is distinct from k.value);
end $$;
