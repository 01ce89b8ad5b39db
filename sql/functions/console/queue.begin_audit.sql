-- queue.begin_audit(account, actor, key, address, action, target, filter): records that a user begins an action. The
-- columns of queue.audit explain the parameters. Rows older than 400 days are removed, up to 100 at a time.
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

-- queue.settle_audit(id, affected, error): records the outcome of an action. p_affected: the number of affected items,
-- null: not known; p_error: why it failed. Returns one row: settled, false if the action was settled before.
create or replace function queue.settle_audit(p_audit_id bigint, p_affected bigint, p_error text)
returns table (settled boolean)
language plpgsql as $$
begin
    update queue.audit a set affected = p_affected, error = p_error, settled_at = clock_timestamp()
    where a.audit_id = p_audit_id and a.settled_at is null;
    return query select found;
end $$;

-- queue.list_audit(account, before, limit): returns the actions in an account, the newest first, from before the row
-- p_before (null: from the newest). Index: audit_account_id.
create or replace function queue.list_audit(p_account_id text, p_before bigint, p_limit int)
returns table (audit_id bigint, happened_at timestamptz, actor text, key_id text, address text, action text, target text,
    filter text, affected bigint, error text, settled_at timestamptz)
language sql stable as $$
select a.audit_id, a.happened_at, a.actor, a.key_id, a.address, a.action, a.target, a.filter::text, a.affected, a.error,
    a.settled_at
from queue.audit a
where a.account_id = p_account_id and (p_before is null or a.audit_id < p_before)
order by a.audit_id desc limit p_limit
$$;
