-- queue.replace_topic_policy(arn, old, new): replaces a topic's access policy if the policy still is p_old (null: the
-- default). p_new null restores the default. Returns one row: whether the policy was replaced.
create or replace function queue.replace_topic_policy(p_arn text, p_old text, p_new text)
returns table (replaced boolean)
language plpgsql as $$
begin
    update queue.topic t
    set attributes = jsonb_strip_nulls(t.attributes || jsonb_build_object('Policy', p_new))
    where t.arn = p_arn and t.attributes ->> 'Policy' is not distinct from p_old;
    return query select found;
end $$;
