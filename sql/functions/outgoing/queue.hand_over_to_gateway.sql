-- queue.hand_over_to_gateway(message): makes a delivery to the gateway of an outgoing message, whose row the caller holds. Its
-- text is what docs/topics.md says of the gateway. Its endpoint is a name for each protocol, so that text messages and pushes
-- pause by themselves; the worker knows the address, which is no account's business. Called by: hand_over_outgoing.
create or replace function queue.hand_over_to_gateway(p_message queue.outgoing) returns void
language sql as $$
with notice as (
    insert into queue.notice (kind, topic_arn, message_id, raw, head)
    select 'gateway', p_message.topic_arn, p_message.message_id, json_strip_nulls(json_build_object(
        'id', p_message.message_id || coalesce(':' || right(p_message.subscription_arn, 36), ''),     -- as webhook_id in request.py
        'message_id', p_message.message_id, 'kind', p_message.kind, 'account', p_message.account_id, 'region', p_message.region,
        'protocol', p_message.protocol, 'destination', p_message.destination,
        'platform', case when p_message.protocol = 'application' then split_part(p_message.destination, '/', 2) end,
        'token', e.token, 'topic_arn', p_message.topic_arn, 'subject', p_message.subject, 'text', p_message.body,
        'attributes', p_message.attributes))::text, p_message.envelope
    from (select) one left join queue.platform_endpoint e on e.arn = p_message.destination
    returning notice_id)
insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw, outgoing_id, dead_letter_arn)
select n.notice_id, p_message.account_id, p_message.subscription_arn, 'https://gateway/' || p_message.protocol, true,
    p_message.outgoing_id, p_message.dead_letter_arn
from notice n
$$;
