-- API destinations: HTTP endpoints that are targets of subscribers.

-- queue.create_api_destination: creates an API destination.
--   `p_fields` has description, connection_arn, invocation_endpoint, http_method and rate_limit.
--   `created` is false if the account has an API destination of this name.
--   `error` is ConnectionNotFound.
create or replace function queue.create_api_destination(
    p_account_id text, p_region text, p_name text, p_arn text, p_fields jsonb)
returns table (created boolean, error text)
language plpgsql as $$
begin
    insert into queue.api_destination (arn, account_id, region, name, description, connection_arn, invocation_endpoint,
        http_method, rate_limit)
    values (p_arn, p_account_id, p_region, p_name, p_fields ->> 'description', p_fields ->> 'connection_arn',
        p_fields ->> 'invocation_endpoint', p_fields ->> 'http_method', (p_fields ->> 'rate_limit')::int)
    on conflict do nothing;
    return query select found, null::text;
exception when foreign_key_violation then
    return query select false, 'ConnectionNotFound';
end $$;

-- queue.list_api_destinations: returns an account's API destinations by name.
--   `p_name` restricts the result to one API destination, unless it is null.
--   `p_after` is the last name of the previous page.
create or replace function queue.list_api_destinations(
    p_account_id text, p_region text, p_name text, p_after text, p_limit int)
returns table (arn text, name text, description text, connection_arn text, invocation_endpoint text,
    http_method text, rate_limit int, created_at timestamptz, updated_at timestamptz)
language sql stable as $$
select d.arn, d.name, d.description, d.connection_arn, d.invocation_endpoint, d.http_method, d.rate_limit,
    d.created_at, d.updated_at
from queue.api_destination d
where d.account_id = p_account_id and d.region = p_region and (p_name is null or d.name = p_name)
    and d.name > coalesce(p_after, '')
order by d.name limit p_limit
$$;

-- queue.change_api_destination: changes an API destination. A member of p_fields (create_api_destination) that is
-- absent stays unchanged. `changed` is false if the API destination does not exist. `error` is ConnectionNotFound.
create or replace function queue.change_api_destination(p_arn text, p_fields jsonb)
returns table (changed boolean, error text)
language plpgsql as $$
begin
    update queue.api_destination d
    set description = case when p_fields ? 'description' then p_fields ->> 'description' else d.description end,
        connection_arn = coalesce(p_fields ->> 'connection_arn', d.connection_arn),
        invocation_endpoint = coalesce(p_fields ->> 'invocation_endpoint', d.invocation_endpoint),
        http_method = coalesce(p_fields ->> 'http_method', d.http_method),
        rate_limit = coalesce((p_fields ->> 'rate_limit')::int, d.rate_limit),
        next_turn_at = case when p_fields ? 'rate_limit' then clock_timestamp() else d.next_turn_at end,
        updated_at = clock_timestamp()
    where d.arn = p_arn;
    return query select found, null::text;
exception when foreign_key_violation then
    return query select false, 'ConnectionNotFound';
end $$;

-- queue.delete_api_destination: deletes an API destination. The events of its subscribers end in their failure queues.
create or replace function queue.delete_api_destination(p_arn text)
returns table (deleted boolean)
language plpgsql as $$
begin
    delete from queue.api_destination d where d.arn = p_arn;
    return query select found;
end $$;

-- queue.take_api_destination_turns: takes turns for requests, so that all workers together keep the rate of an API
-- destination. Returns the first turn as the milliseconds from now, the milliseconds between two turns, and what the
-- requests need. Returns no row for an API destination that does not exist.
--   `p_arns` are different API destinations, and `p_turns` the numbers of their requests.
-- A worker that does not use a turn loses it. Locks the API destinations in the order of their ARNs until the end of
-- the transaction.
create or replace function queue.take_api_destination_turns(p_arns text[], p_turns int[])
returns table (arn text, account_id text, invocation_endpoint text, http_method text, connection_arn text,
    sealed_parameters bytea, revision timestamptz, wait_ms double precision, pause_ms double precision)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_row record;
begin
    for v_row in
        select d.arn, d.rate_limit, d.next_turn_at, u.turns
        from queue.api_destination d join unnest(p_arns, p_turns) u(arn, turns) on u.arn = d.arn
        order by d.arn for update of d
    loop
        v_now := clock_timestamp();
        return query
        update queue.api_destination d
        set next_turn_at = greatest(v_row.next_turn_at, v_now) + v_row.turns * interval '1 second' / v_row.rate_limit
        from queue.connection c
        where d.arn = v_row.arn and c.arn = d.connection_arn
        returning d.arn, d.account_id, d.invocation_endpoint, d.http_method, c.arn, c.sealed_parameters, c.updated_at,
            extract(epoch from greatest(v_row.next_turn_at - v_now, interval '0'))::double precision * 1000,
            1000::double precision / v_row.rate_limit;
    end loop;
end $$;
