-- queue.send_outgoing: stores a message for a phone number or an endpoint of a mobile app. `error` is EndpointDisabled,
-- PlatformApplicationDisabled, EndpointNotFound, or RequestThrottled if too many messages of the account wait for the
-- gateway. Does not store the message if the function returns an error. Stores a message for an opted-out number as
-- failed without an error, because AWS also accepts such a message and does not deliver it.
create or replace function queue.send_outgoing(
    p_account_id text, p_region text, p_protocol text, p_kind text, p_destination text, p_message_id uuid,
    p_subject text, p_body text, p_attributes jsonb)
returns table (error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_error text := queue.outgoing_refusal(p_account_id, p_region, p_protocol, p_destination);
begin
    if v_error is null and exists (
        select from queue.delivery_excess e where e.account_id = p_account_id and e.protocol = p_protocol)
    then
        v_error := 'RequestThrottled';
    elsif v_error is null or v_error = 'OptedOut' then
        insert into queue.outgoing (account_id, region, protocol, kind, destination, message_id, subject, body,
            attributes, state, error)
        values (p_account_id, p_region, p_protocol, p_kind, p_destination, p_message_id, p_subject, p_body,
            p_attributes, case when v_error is null then 'kept' else 'failed' end, v_error);
        perform queue.wake_deliveries();
    end if;
    return query select nullif(v_error, 'OptedOut');
end $$;
