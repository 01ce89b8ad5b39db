-- Reads and changes of the subscribers of event buses.

-- queue.read_event_subscriber: returns a subscriber as JSON by column. Returns no row if it does not exist.
create or replace function queue.read_event_subscriber(p_arn text)
returns table (subscriber jsonb)
language sql stable as $$ select to_jsonb(s) from queue.event_subscriber s where s.arn = p_arn $$;

-- queue.update_event_subscriber: replaces the state, if it is not null, and the members of the configuration that
-- p_changes has. A member that is null in p_changes is removed. Returns the subscriber as JSON by column.
--   `p_resume` is the position of a subscriber that runs again: LATEST skips the events that it has missed.
--   `error` is ResourceNotFound, InvalidState for a revoked subscriber, or null.
-- A change of the state waits until the delivery of the bus has ended its step, so that the step does not deliver to a
-- stopped subscriber.
create or replace function queue.update_event_subscriber(p_arn text, p_state text, p_changes jsonb, p_resume text)
returns table (subscriber jsonb, error text)
language plpgsql as $$
declare
    v_found queue.event_subscriber;
    v_page bigint;
begin
    if p_state is not null then
        perform pg_advisory_xact_lock(queue.event_delivery_key(s.bus_id))
        from queue.event_subscriber s where s.arn = p_arn;
    end if;
    select * into v_found from queue.event_subscriber s where s.arn = p_arn and not s.revoked for update;
    if not found then
        return query select null::jsonb, case
            when exists (select from queue.event_subscriber s where s.arn = p_arn) then 'InvalidState'
            else 'ResourceNotFound' end;
        return;
    end if;
    if p_state = 'STOPPED' and v_found.follows then
        v_page := greatest(queue.read_event_cursor(v_found.bus_id, 0), v_found.first_page);
    elsif p_state = 'RUNNING' and p_resume = 'LATEST' then
        v_page := queue.find_last_event_page(v_found.bus_id);
    end if;
    if v_page is not null then
        perform queue.set_event_cursor(v_found.bus_id, v_found.subscriber_id, v_page);
    end if;
    update queue.event_subscriber s
    set state = coalesce(p_state, s.state), follows = s.follows and p_state is distinct from 'STOPPED',
        configuration = (s.configuration || p_changes) - array(
            select c.key from jsonb_each(p_changes) c where c.value = 'null'),
        updated_at = clock_timestamp()
    where s.subscriber_id = v_found.subscriber_id
    returning * into v_found;
    if p_state = 'RUNNING' then
        perform queue.wake_event_delivery();
    end if;
    return query select to_jsonb(v_found), null::text;
end $$;

-- queue.delete_event_subscriber: deletes a subscriber and its cursor. Maintenance removes its retries. `deleted` says
-- whether the subscriber existed.
create or replace function queue.delete_event_subscriber(p_arn text)
returns table (deleted boolean)
language plpgsql as $$
declare
    v_id bigint;
begin
    delete from queue.event_subscriber s where s.arn = p_arn returning s.subscriber_id into v_id;
    delete from queue.event_cursor c where c.subscriber_id = v_id;
    return query select v_id is not null;
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
-- bus, which a concurrent request could delete. A subscriber with the position LATEST receives every event that was not
-- committed before this call.
--   `p_fields` has type, starting_position, state, target_arn, configuration, tags, and start_at for a subscriber that
--     starts in the past. `deliverable` is false if the worker cannot serve the subscriber yet.
--   `error` is ResourceNotFound, ResourceAlreadyExists or IdempotentParameterMismatch.
create or replace function queue.create_event_subscriber(
    p_bus_arn text, p_account_id text, p_region text, p_name text, p_arn text, p_fields jsonb, p_client_token text,
    p_request_hash text)
returns table (subscriber jsonb, created boolean, error text)
language plpgsql as $$
declare
    v_bus_id bigint;
    v_page bigint;
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
        v_page := queue.find_last_event_page(v_bus_id);
        if p_fields ->> 'start_at' is not null then
            -- An event has a place only after its ingestion, so no earlier page has an event of this time.
            v_page := coalesce((
                select p.page - 1 from queue.event_page p
                where p.bus_id = v_bus_id and p.sequenced_at >= (p_fields ->> 'start_at')::timestamptz
                order by p.sequenced_at, p.page limit 1), v_page);
        end if;
        insert into queue.event_subscriber (bus_id, bus_arn, account_id, region, name, arn, type, starting_position,
            state, target_arn, configuration, tags, client_token, request_hash, deliverable, first_page,
            follows)
        values (v_bus_id, p_bus_arn, p_account_id, p_region, p_name, p_arn, p_fields ->> 'type',
            p_fields ->> 'starting_position', p_fields ->> 'state', p_fields ->> 'target_arn',
            p_fields -> 'configuration', p_fields -> 'tags', p_client_token, p_request_hash,
            coalesce((p_fields ->> 'deliverable')::boolean, true), v_page,
            p_fields ->> 'state' = 'RUNNING' and p_fields ->> 'start_at' is null)
        on conflict (bus_id, account_id, name) do nothing
        returning * into v_found;
        if found then
            if not v_found.follows then
                insert into queue.event_cursor (bus_id, subscriber_id, page)
                values (v_bus_id, v_found.subscriber_id, v_page);
            end if;
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
