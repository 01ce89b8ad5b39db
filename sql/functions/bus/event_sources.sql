-- Reads and changes of the sources of event buses.

-- queue.show_event_source: returns an event source as JSON by column, with the url_key of a webhook.
create or replace function queue.show_event_source(p_source queue.event_source) returns jsonb
language sql stable as $$
select to_jsonb(p_source) || jsonb_build_object('url_key', (
    select w.url_key from queue.event_webhook w where w.source_id = p_source.source_id))
$$;

-- queue.read_event_source: returns an event source as JSON (queue.show_event_source). Returns no row if it does not
-- exist.
create or replace function queue.read_event_source(p_arn text)
returns table (source jsonb)
language sql stable as $$ select queue.show_event_source(s) from queue.event_source s where s.arn = p_arn $$;

-- queue.create_event_source: creates a webhook as the event source of a bus. Returns the source as JSON
-- (queue.show_event_source). A request with the client token and the hash of a source that is younger than 8 hours
-- returns that source. Locks the bus, which a concurrent request could delete.
--   `p_fields` has configuration and tags.
--   `p_secret` is encrypted.
--   `error` is ResourceNotFound, ResourceAlreadyExists or IdempotentParameterMismatch.
create or replace function queue.create_event_source(
    p_bus_arn text, p_account_id text, p_region text, p_name text, p_arn text, p_fields jsonb, p_url_key text,
    p_secret bytea, p_client_token text, p_request_hash text)
returns table (source jsonb, created boolean, error text)
language plpgsql as $$
declare
    v_bus_id bigint;
    v_found queue.event_source;
begin
    select b.bus_id into v_bus_id from queue.event_bus b where b.arn = p_bus_arn for key share;
    if not found then
        return query select null::jsonb, false, 'ResourceNotFound';
        return;
    end if;
    select * into v_found from queue.event_source s
    where s.account_id = p_account_id and s.region = p_region and s.client_token = p_client_token
        and s.created_at > (select clock_timestamp()) - interval '8 hours'
    limit 1;
    if not found then
        insert into queue.event_source (bus_id, bus_arn, account_id, region, name, arn, type, configuration, tags,
            client_token, request_hash)
        values (v_bus_id, p_bus_arn, p_account_id, p_region, p_name, p_arn, 'WEBHOOK_EVENTS',
            p_fields -> 'configuration', p_fields -> 'tags', p_client_token, p_request_hash)
        on conflict (account_id, region, name) do nothing
        returning * into v_found;
        if found then
            insert into queue.event_webhook (source_id, url_key, secret)
            values (v_found.source_id, p_url_key, p_secret);
            return query select queue.show_event_source(v_found), true, null::text;
            return;
        end if;
        -- The client can send a request twice at the same time.
        select * into v_found from queue.event_source s
        where s.account_id = p_account_id and s.region = p_region and s.name = p_name;
    end if;
    return query select queue.show_event_source(v_found), false, case
        when v_found.client_token is null or v_found.client_token is distinct from p_client_token
            or v_found.created_at <= clock_timestamp() - interval '8 hours' then 'ResourceAlreadyExists'
        when v_found.request_hash <> p_request_hash then 'IdempotentParameterMismatch' end;
end $$;

-- queue.update_event_source: replaces the members of the configuration that p_changes has. A member that is null in
-- p_changes is removed. Returns the source as JSON (queue.show_event_source).
--   `error` is ResourceNotFound, InvalidState for a revoked source, or null.
create or replace function queue.update_event_source(p_arn text, p_changes jsonb)
returns table (source jsonb, error text)
language plpgsql as $$
declare
    v_found queue.event_source;
begin
    update queue.event_source s
    set configuration = (s.configuration || p_changes) - array(
            select c.key from jsonb_each(p_changes) c where c.value = 'null'),
        updated_at = clock_timestamp()
    where s.arn = p_arn and not s.revoked
    returning * into v_found;
    if not found then
        return query select null::jsonb, case
            when exists (select from queue.event_source s where s.arn = p_arn) then 'InvalidState'
            else 'ResourceNotFound' end;
        return;
    end if;
    return query select queue.show_event_source(v_found), null::text;
end $$;

-- queue.rotate_webhook_secret: replaces the secret of a webhook. The replaced secret stays valid for 15 minutes, and
-- the secret before it ends at once. A request with the client token and the hash of the last rotation within 8 hours
-- changes nothing.
--   `error` is ResourceNotFound, InvalidState for a revoked source, IdempotentParameterMismatch or null.
create or replace function queue.rotate_webhook_secret(
    p_arn text, p_secret bytea, p_client_token text, p_request_hash text)
returns table (changed boolean, error text)
language plpgsql as $$
declare
    v_found record;
begin
    select s.source_id, s.revoked, w.rotation_hash, w.rotation_token = p_client_token
        and w.rotated_at > clock_timestamp() - interval '8 hours' as is_repeated
    into v_found
    from queue.event_source s join queue.event_webhook w using (source_id)
    where s.arn = p_arn for update;
    if not found or v_found.revoked or coalesce(v_found.is_repeated, false) then
        return query select false, case
            when v_found.source_id is null then 'ResourceNotFound' when v_found.revoked then 'InvalidState'
            when v_found.rotation_hash <> p_request_hash then 'IdempotentParameterMismatch' end;
        return;
    end if;
    update queue.event_webhook w
    set secret = p_secret, previous_secret = w.secret,
        previous_until = clock_timestamp() + interval '15 minutes', rotation_token = p_client_token,
        rotation_hash = p_request_hash, rotated_at = clock_timestamp()
    where w.source_id = v_found.source_id;
    return query select true, null::text;
end $$;

-- queue.find_webhook: returns the webhook with this url_key, with its encrypted secrets. Returns no row for an unknown
-- key.
--   `previous_secret` is null if no rotation replaced a secret within the last 15 minutes.
create or replace function queue.find_webhook(p_url_key text)
returns table (arn text, account_id text, bus_arn text, revoked boolean, configuration jsonb, secret bytea,
    previous_secret bytea)
language sql volatile as $$
select s.arn, s.account_id, s.bus_arn, s.revoked, s.configuration, w.secret,
    case when w.previous_until > clock_timestamp() then w.previous_secret end
from queue.event_webhook w join queue.event_source s using (source_id)
where w.url_key = p_url_key
$$;

-- queue.read_webhook_secret: returns the webhook of an account and region by name, with its encrypted secret. Returns
-- no row if the account has no webhook of this name.
create or replace function queue.read_webhook_secret(p_account_id text, p_region text, p_name text)
returns table (source jsonb, secret bytea)
language sql stable as $$
select queue.show_event_source(s), w.secret
from queue.event_source s join queue.event_webhook w using (source_id)
where s.account_id = p_account_id and s.region = p_region and s.name = p_name
$$;

-- queue.delete_event_source: deletes an event source. `deleted` says whether it existed.
create or replace function queue.delete_event_source(p_arn text)
returns table (deleted boolean)
language plpgsql as $$
begin
    delete from queue.event_source s where s.arn = p_arn;
    return query select found;
end $$;

-- queue.list_event_sources: returns the event sources of an account and region, of a bus, or of both, as JSON by
-- column, in the order of their ARNs. A null restricts nothing. `p_after` is the last ARN of the previous page.
create or replace function queue.list_event_sources(
    p_account_id text, p_region text, p_bus_arn text, p_name_prefix text, p_after text, p_limit int)
returns table (source jsonb)
language sql stable as $$
select to_jsonb(s) from queue.event_source s
where (p_account_id is null or s.account_id = p_account_id) and s.region = p_region
    and (p_bus_arn is null or s.bus_id = (select b.bus_id from queue.event_bus b where b.arn = p_bus_arn))
    and starts_with(s.name, coalesce(p_name_prefix, '')) and s.arn > coalesce(p_after, '')
order by s.arn limit p_limit
$$;
