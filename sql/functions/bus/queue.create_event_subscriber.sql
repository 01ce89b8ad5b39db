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
            v_page := queue.find_event_page_before(v_bus_id, (p_fields ->> 'start_at')::timestamptz, v_page);
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
            if v_found.follows then
                perform queue.note_event_subscribers(v_bus_id);
            else
                insert into queue.event_cursor (bus_id, subscriber_id, page)
                values (v_bus_id, v_found.subscriber_id, v_page);
                perform queue.wake_event_delivery();
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
