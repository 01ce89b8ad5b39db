-- Reads and changes of event buses and their policies.

-- queue.show_event_bus: returns a bus as JSON by column, with the database's time (`now`) and the time of the oldest
-- event that the bus can still have (`window_start`).
create or replace function queue.show_event_bus(p_bus queue.event_bus) returns jsonb
language sql as $$
select to_jsonb(p_bus) || jsonb_build_object('now', c.now,
    'window_start', queue.read_window_start(p_bus))
from (select clock_timestamp() as now) c
$$;

-- queue.read_event_bus: returns a bus as JSON. Returns no row if the bus does not exist.
create or replace function queue.read_event_bus(p_arn text)
returns table (bus jsonb)
language sql as $$ select queue.show_event_bus(b) from queue.event_bus b where b.arn = p_arn $$;

-- queue.update_event_bus: changes the columns in p_fields: description, kms_key, retention_days. Returns the bus as
-- JSON. Events that the bus no longer retains stay lost if a later change lengthens the retention.
--   `error` is ResourceNotFound or null.
create or replace function queue.update_event_bus(p_arn text, p_fields jsonb)
returns table (bus jsonb, error text)
language plpgsql as $$
declare
    v_bus queue.event_bus;
begin
    update queue.event_bus b
    set description = case when p_fields ? 'description' then p_fields ->> 'description' else b.description end,
        kms_key = case when p_fields ? 'kms_key' then p_fields ->> 'kms_key' else b.kms_key end,
        retention_days = coalesce((p_fields ->> 'retention_days')::int, b.retention_days),
        retained_since = greatest(b.retained_since, clock_timestamp() - make_interval(days => b.retention_days)),
        updated_at = clock_timestamp()
    where b.arn = p_arn
    returning * into v_bus;
    return query select case when v_bus.bus_id is not null then queue.show_event_bus(v_bus) end,
        case when v_bus.bus_id is null then 'ResourceNotFound' end;
end $$;

-- queue.delete_event_bus: deletes a bus that has no subscribers and no event sources. Revoked ones do not count. Locks
-- the bus, so no subscriber is created at the same time. Also removes the bus's bindings to routing keys.
--   `error` is ResourceNotFound, ResourceInUse or null. `in_use` names the kinds that the bus still has.
create or replace function queue.delete_event_bus(p_arn text)
returns table (deleted boolean, error text, in_use text[])
language plpgsql as $$
declare
    v_id bigint;
    v_in_use text[];
begin
    select b.bus_id into v_id from queue.event_bus b where b.arn = p_arn for update;
    v_in_use := array_remove(array[
        case when exists (select from queue.event_subscriber s where s.bus_id = v_id and not s.revoked)
        then 'subscribers' end,
        case when exists (select from queue.event_source s where s.bus_id = v_id and not s.revoked)
        then 'event sources' end], null);
    if v_in_use = '{}' then
        delete from queue.event_bus b where b.bus_id = v_id;
        delete from queue.binding b where b.endpoint = p_arn;
    end if;
    return query select v_id is not null and v_in_use = '{}', case
        when v_id is null then 'ResourceNotFound' when v_in_use <> '{}' then 'ResourceInUse' end, v_in_use;
end $$;

-- queue.list_event_buses: returns an account's buses in a region as JSON, by name, without the archives of topics.
-- `p_after` restricts the result to later names. Null means all names.
create or replace function queue.list_event_buses(
    p_account_id text, p_region text, p_name_prefix text, p_after text, p_limit int)
returns table (bus jsonb)
language sql as $$
select queue.show_event_bus(b) from queue.event_bus b
where b.account_id = p_account_id and b.region = p_region and starts_with(b.name, coalesce(p_name_prefix, ''))
    and b.name > coalesce(p_after, '') and b.topic_id is null
order by b.name limit p_limit
$$;

-- queue.put_event_bus_policy: stores a bus's resource policy under a new revision. `p_expected` is the revision that
-- the policy must have, NO_POLICY if the bus must have no policy, or null.
--   `error` is ResourceNotFound, Conflict or null.
create or replace function queue.put_event_bus_policy(p_arn text, p_policy text, p_revision text, p_expected text)
returns table (error text)
language plpgsql as $$
declare
    v_current text;
begin
    select coalesce(b.policy_revision, 'NO_POLICY') into v_current from queue.event_bus b
    where b.arn = p_arn for update;
    if not found then
        return query select 'ResourceNotFound';
        return;
    end if;
    if p_expected is null or p_expected = v_current then
        update queue.event_bus b set policy = p_policy, policy_revision = p_revision where b.arn = p_arn;
    end if;
    return query select case when p_expected <> v_current then 'Conflict' end;
end $$;

-- queue.delete_event_bus_policy: deletes a bus's resource policy. `revision` is the revision of the deleted policy, or
-- null if the bus had no policy. `p_expected` is the revision that the policy must have, or null.
--   `error` is ResourceNotFound, Conflict or null.
create or replace function queue.delete_event_bus_policy(p_arn text, p_expected text)
returns table (revision text, error text)
language plpgsql as $$
declare
    v_current text;
begin
    select b.policy_revision into v_current from queue.event_bus b where b.arn = p_arn for update;
    if not found then
        return query select null::text, 'ResourceNotFound';
        return;
    end if;
    if p_expected is not null and p_expected is distinct from v_current then
        return query select null::text, 'Conflict';
        return;
    end if;
    update queue.event_bus b set policy = null, policy_revision = null where b.arn = p_arn;
    return query select v_current, null::text;
end $$;

-- queue.read_event_policies: returns the resource policies of event buses. Returns no row for another ARN.
--   `n` is the position in p_arns, from 1.
--   `policy` is null if the bus has no policy.
create or replace function queue.read_event_policies(p_arns text[])
returns table (n int, policy text, owner text, receiver text)
language sql stable as $$
select a.n::int, b.policy, b.account_id, null
from unnest(p_arns) with ordinality as a (arn, n)
join queue.event_bus b on b.arn = a.arn
$$;

-- queue.create_event_bus: creates an event bus. Returns the bus as JSON (queue.show_event_bus). A request with the
-- client token and the hash of a bus that is younger than 8 hours returns that bus.
--   `p_fields` has description, kms_key, retention_days and tags.
--   `error` is ResourceAlreadyExists or IdempotentParameterMismatch.
create or replace function queue.create_event_bus(
    p_account_id text, p_region text, p_name text, p_arn text, p_fields jsonb, p_client_token text,
    p_request_hash text)
returns table (bus jsonb, created boolean, error text)
language plpgsql as $$
declare
    v_bus queue.event_bus;
begin
    select * into v_bus from queue.event_bus b
    where b.account_id = p_account_id and b.region = p_region and b.client_token = p_client_token
        and b.created_at > (select clock_timestamp()) - interval '8 hours';
    if not found then
        insert into queue.event_bus (account_id, region, name, arn, description, kms_key, retention_days, tags,
            client_token, request_hash)
        values (p_account_id, p_region, p_name, p_arn, p_fields ->> 'description', p_fields ->> 'kms_key',
            (p_fields ->> 'retention_days')::int, p_fields -> 'tags', p_client_token, p_request_hash)
        on conflict (account_id, region, name) do nothing
        returning * into v_bus;
        if found then
            perform queue.add_event_partitions(queue.retention_class(v_bus.retention_days));
            perform queue.notify_processes('events');   -- The workers begin to wait for publications.
            return query select queue.show_event_bus(v_bus), true, null::text;
            return;
        end if;
        -- The client can send a request twice at the same time.
        select * into v_bus from queue.event_bus b
        where b.account_id = p_account_id and b.region = p_region and b.name = p_name;
    end if;
    return query select queue.show_event_bus(v_bus), false, case
        when v_bus.client_token is null or v_bus.client_token is distinct from p_client_token
            or v_bus.created_at <= clock_timestamp() - interval '8 hours' then 'ResourceAlreadyExists'
        when v_bus.request_hash <> p_request_hash then 'IdempotentParameterMismatch' end;
end $$;
