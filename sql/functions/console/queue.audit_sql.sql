-- queue.audit_sql: records an action of the SQL interface in the action's transaction. The actor is the login role. The
-- row belongs to the account in the target's ARN, or to the role's account if the target is not an ARN. `p_changed`
-- says whether the action changed something.
create or replace function queue.audit_sql(
    p_action text, p_target text, p_details jsonb, p_affected bigint, p_changed boolean)
returns void
language sql volatile as $$
select from queue.caller_account() c, queue.write_audit(
    p_account_id => case when p_target like 'arn:%' then split_part(p_target, ':', 5) else c.account_id end,
    p_interface => 'database', p_actor => null, p_key_id => null, p_address => coalesce(host(inet_client_addr()), ''),
    p_action => p_action, p_target => p_target, p_details => p_details, p_when_changed => false,
    p_affected => p_affected, p_state_before => null, p_changed => p_changed)
$$;
