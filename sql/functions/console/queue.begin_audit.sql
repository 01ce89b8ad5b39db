-- queue.begin_audit(account, actor, key, address, action, target, filter): notes that somebody begins to do something; the
-- columns of queue.audit say what each means. Rows older than 400 days are removed, up to 100 at a time.
-- Index: audit_happened_at.
create or replace function queue.begin_audit(
    p_account_id text, p_actor text, p_key_id text, p_address text, p_action text, p_target text, p_filter jsonb)
returns table (audit_id bigint)
language plpgsql as $$
#variable_conflict use_column
begin
    delete from queue.audit a where a.audit_id in (
        select x.audit_id from queue.audit x where x.happened_at < clock_timestamp() - interval '400 days'
        order by x.happened_at limit 100 for update skip locked);
    return query
    insert into queue.audit as a (account_id, actor, key_id, address, action, target, filter)
    values (p_account_id, p_actor, p_key_id, p_address, p_action, p_target, p_filter)
    returning a.audit_id;
end $$;
