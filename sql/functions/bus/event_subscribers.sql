-- Reads and changes of the subscribers of event buses.

-- queue.read_event_subscriber: returns a subscriber as JSON by column. Returns no row if it does not exist.
create or replace function queue.read_event_subscriber(p_arn text)
returns table (subscriber jsonb)
language sql stable as $$ select to_jsonb(s) from queue.event_subscriber s where s.arn = p_arn $$;

-- queue.update_event_subscriber: replaces the state, if it is not null, and the members of the configuration that
-- p_changes has. A member that is null in p_changes is removed. Returns the subscriber as JSON by column.
--   `error` is ResourceNotFound, InvalidState for a revoked subscriber, or null.
create or replace function queue.update_event_subscriber(p_arn text, p_state text, p_changes jsonb)
returns table (subscriber jsonb, error text)
language plpgsql as $$
declare
    v_found queue.event_subscriber;
begin
    update queue.event_subscriber s
    set state = coalesce(p_state, s.state),
        configuration = (s.configuration || p_changes) - array(
            select c.key from jsonb_each(p_changes) c where c.value = 'null'),
        updated_at = clock_timestamp()
    where s.arn = p_arn and not s.revoked
    returning * into v_found;
    return query select to_jsonb(v_found), case
        when v_found.subscriber_id is not null then null
        when exists (select from queue.event_subscriber s where s.arn = p_arn) then 'InvalidState'
        else 'ResourceNotFound' end;
end $$;

-- queue.delete_event_subscriber: deletes a subscriber. `deleted` says whether it existed.
create or replace function queue.delete_event_subscriber(p_arn text)
returns table (deleted boolean)
language plpgsql as $$
begin
    delete from queue.event_subscriber s where s.arn = p_arn;
    return query select found;
end $$;

-- queue.list_event_subscribers: returns the subscribers of an account and region, of a bus, or of both, as JSON by
-- column, in the order of their ARNs. A null restricts nothing. `p_after` is the last ARN of the previous page.
create or replace function queue.list_event_subscribers(
    p_account_id text, p_region text, p_bus_arn text, p_name_prefix text, p_after text, p_limit int)
returns table (subscriber jsonb)
language sql stable as $$
select to_jsonb(s) from queue.event_subscriber s
where (p_account_id is null or s.account_id = p_account_id) and s.region = p_region
    and (p_bus_arn is null or s.bus_id = (select b.bus_id from queue.event_bus b where b.arn = p_bus_arn))
    and starts_with(s.name, coalesce(p_name_prefix, '')) and s.arn > coalesce(p_after, '')
order by s.arn limit p_limit
$$;

-- queue.create_event_subscriber: creates a subscriber of a bus. Returns the subscriber as JSON by column. A request
-- with the client token and the hash of a subscriber that is younger than 8 hours returns that subscriber. Locks the
-- bus, which a concurrent request could delete.
--   `p_fields` has type, starting_position, state, target_arn, configuration and tags.
--   `error` is ResourceNotFound, ResourceAlreadyExists or IdempotentParameterMismatch.
create or replace function queue.create_event_subscriber(
    p_bus_arn text, p_account_id text, p_region text, p_name text, p_arn text, p_fields jsonb, p_client_token text,
    p_request_hash text)
returns table (subscriber jsonb, created boolean, error text)
language plpgsql as $$
declare
    v_bus_id bigint;
    v_found queue.event_subscriber;
begin
    select b.bus_id into v_bus_id from queue.event_bus b where b.arn = p_bus_arn for key share;
    if not found then
        return query select null::jsonb, false, 'ResourceNotFound';
        return;
    end if;
    select * into v_found from queue.event_subscriber s
    where s.account_id = p_account_id and s.region = p_region and s.client_token = p_client_token
        and s.created_at > (select clock_timestamp()) - interval '8 hours'
    limit 1;
    if not found then
        insert into queue.event_subscriber (bus_id, bus_arn, account_id, region, name, arn, type, starting_position,
            state, target_arn, configuration, tags, client_token, request_hash)
        values (v_bus_id, p_bus_arn, p_account_id, p_region, p_name, p_arn, p_fields ->> 'type',
            p_fields ->> 'starting_position', p_fields ->> 'state', p_fields ->> 'target_arn',
            p_fields -> 'configuration', p_fields -> 'tags', p_client_token, p_request_hash)
        on conflict (bus_id, account_id, name) do nothing
        returning * into v_found;
        if found then
            return query select to_jsonb(v_found), true, null::text;
            return;
        end if;
        -- The client can send a request twice at the same time.
        select * into v_found from queue.event_subscriber s
        where s.bus_id = v_bus_id and s.account_id = p_account_id and s.name = p_name;
    end if;
    return query select to_jsonb(v_found), false, case
        when v_found.client_token is null or v_found.client_token is distinct from p_client_token
            or v_found.created_at <= clock_timestamp() - interval '8 hours' then 'ResourceAlreadyExists'
        when v_found.request_hash <> p_request_hash then 'IdempotentParameterMismatch' end;
end $$;
