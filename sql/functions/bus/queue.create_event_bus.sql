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
