-- queue.bind: binds a queue, an event bus or a URL to a pattern of routing keys. Returns the binding. If the binding
-- exists, changes nothing, and `created` is false. `p_password` is the password of a URL. `p_endpoint` contains **** in
-- place of the password. Raises QU003 if p_pattern is not a pattern.
-- This file also contains unbind and list_bindings.
create or replace function queue.bind(
    p_account_id text, p_region text, p_pattern text, p_protocol text, p_endpoint text, p_envelope boolean,
    p_filter_policy text, p_filter jsonb, p_password text default null)
returns table (binding_id bigint, pattern text, protocol text, endpoint text, envelope boolean, filter_policy text,
    created_at_ms bigint, created boolean)
language plpgsql as $$
#variable_conflict use_column
begin
    perform queue.check_routing_key(p_pattern, true);
    perform queue.store_endpoint_password(p_account_id, '', p_endpoint, p_password);
    return query
    with made as (
        insert into queue.binding as b (account_id, region, pattern, protocol, endpoint, envelope, filter_policy,
            filter)
        values (p_account_id, p_region, p_pattern, p_protocol, p_endpoint, p_envelope, p_filter_policy, p_filter)
        on conflict do nothing
        returning b.*),
    found as (
        select m.*, true as created from made m
        union all
        select b.*, false from queue.binding b
        where b.account_id = p_account_id and b.region = p_region and b.pattern = p_pattern
            and b.protocol = p_protocol and b.endpoint = p_endpoint and not exists (select from made))
    select f.binding_id, f.pattern, f.protocol, f.endpoint, f.envelope, f.filter_policy, queue.epoch_ms(f.created_at),
        f.created
    from found f;
end $$;

-- queue.unbind: removes a binding. `removed` says whether the binding existed.
create or replace function queue.unbind(p_account_id text, p_region text, p_pattern text, p_binding_id bigint)
returns table (removed boolean)
language plpgsql as $$
begin
    delete from queue.binding b
    where b.account_id = p_account_id and b.region = p_region and b.pattern = p_pattern
        and b.binding_id = p_binding_id;
    return query select found;
end $$;

-- queue.list_bindings: returns the bindings of an account in a region, in the order of their ids.
--   `p_pattern` and `p_endpoint` restrict the result to matching bindings. Null means any binding.
--   `p_after` restricts the result to greater ids, and null means all ids.
create or replace function queue.list_bindings(
    p_account_id text, p_region text, p_pattern text, p_endpoint text, p_after bigint, p_limit int)
returns table (binding_id bigint, pattern text, protocol text, endpoint text, envelope boolean, filter_policy text,
    created_at_ms bigint)
language sql stable as $$
select b.binding_id, b.pattern, b.protocol, b.endpoint, b.envelope, b.filter_policy, queue.epoch_ms(b.created_at)
from queue.binding b
where b.account_id = p_account_id and b.region = p_region and (p_pattern is null or b.pattern = p_pattern)
    and (p_endpoint is null or b.endpoint = p_endpoint) and b.binding_id > coalesce(p_after, 0)
order by b.binding_id
limit p_limit
$$;
