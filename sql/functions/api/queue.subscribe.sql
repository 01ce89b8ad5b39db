-- queue.subscribe: binds a queue to a pattern of routing keys. Returns the binding's id. The queue then receives the
-- events whose routing key matches the pattern. A second call with the same pattern and queue changes nothing. Raises
-- QU001 if the queue does not exist. Raises QU003 if the pattern is invalid. SQL interface.
create or replace function queue.subscribe(pattern text, name text) returns bigint
language sql volatile security definer set search_path = pg_catalog, queue, pg_temp as $$
with bound as materialized (
    select b.binding_id, b.created
    from queue.caller_account() c, queue.bind(
        p_account_id => c.account_id, p_region => c.region, p_pattern => subscribe.pattern, p_protocol => 'queue',
        p_endpoint => queue.resolve(subscribe.name), p_envelope => false, p_filter_policy => null, p_filter => null) b),
noted as materialized (
    select queue.audit_sql('penstock:Subscribe', subscribe.pattern, jsonb_build_object('queue', subscribe.name), 1,
        a.created) from bound a)
select a.binding_id from bound a, noted
$$;
