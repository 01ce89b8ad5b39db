-- The connections of API destinations.

-- queue.create_connection: creates a connection.
--   `p_fields` has description, authorization_type and parameters (AuthParameters without secrets).
--   `p_sealed` is AuthParameters, encrypted.
--   `created` is false if the account has a connection of this name.
create or replace function queue.create_connection(
    p_account_id text, p_region text, p_name text, p_arn text, p_fields jsonb, p_sealed bytea)
returns table (created boolean)
language plpgsql as $$
begin
    insert into queue.connection (arn, account_id, region, name, description, authorization_type, parameters,
        sealed_parameters)
    values (p_arn, p_account_id, p_region, p_name, p_fields ->> 'description', p_fields ->> 'authorization_type',
        p_fields -> 'parameters', p_sealed)
    on conflict do nothing;
    return query select found;
end $$;

-- queue.list_connections: returns an account's connections by name, without secrets.
--   `p_name` restricts the result to one connection, unless it is null.
--   `p_after` is the last name of the previous page.
create or replace function queue.list_connections(
    p_account_id text, p_region text, p_name text, p_after text, p_limit int)
returns table (arn text, name text, description text, authorization_type text, parameters jsonb,
    created_at timestamptz, updated_at timestamptz)
language sql stable as $$
select c.arn, c.name, c.description, c.authorization_type, c.parameters, c.created_at, c.updated_at
from queue.connection c
where c.account_id = p_account_id and c.region = p_region and (p_name is null or c.name = p_name)
    and c.name > coalesce(p_after, '')
order by c.name limit p_limit
$$;

-- queue.change_connection: changes a connection. A member of p_fields (create_connection) that is absent, and p_sealed
-- if it is null, stay unchanged. `changed` is false if the connection does not exist.
create or replace function queue.change_connection(p_arn text, p_fields jsonb, p_sealed bytea)
returns table (changed boolean)
language plpgsql as $$
begin
    update queue.connection c
    set description = case when p_fields ? 'description' then p_fields ->> 'description' else c.description end,
        authorization_type = coalesce(p_fields ->> 'authorization_type', c.authorization_type),
        parameters = coalesce(p_fields -> 'parameters', c.parameters),
        sealed_parameters = coalesce(p_sealed, c.sealed_parameters), updated_at = clock_timestamp()
    where c.arn = p_arn;
    return query select found;
end $$;

-- queue.delete_connection: deletes a connection. `error` is InUse if an API destination has the connection.
create or replace function queue.delete_connection(p_arn text)
returns table (deleted boolean, error text)
language plpgsql as $$
begin
    delete from queue.connection c where c.arn = p_arn;
    return query select found, null::text;
exception when foreign_key_violation then
    return query select false, 'InUse';
end $$;
