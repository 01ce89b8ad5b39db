-- queue.settle_audit(id, affected, error): notes the outcome of an action. p_affected: how many it was about, null: not
-- known; p_error: why it failed. Returns one row: settled, false when it was settled before.
create or replace function queue.settle_audit(p_audit_id bigint, p_affected bigint, p_error text)
returns table (settled boolean)
language plpgsql as $$
begin
    update queue.audit a set affected = p_affected, error = p_error, settled_at = clock_timestamp()
    where a.audit_id = p_audit_id and a.settled_at is null;
    return query select found;
end $$;
