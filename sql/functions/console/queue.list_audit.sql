-- queue.list_audit(account, before, limit): what was done in an account, the newest first, from before the row p_before
-- (null: from the newest). Index: audit_account_id.
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
