-- queue.add_subscription: without the policies of queues.
-- Called by: Subscribe of the previous release.
create or replace function queue.add_subscription(
    p_topic text, p_subscription_id uuid, p_owner text, p_protocol text, p_endpoint text, p_attributes jsonb,
    p_filter jsonb, p_token text, p_confirmation text, p_topic_filters int, p_account_filters int)
returns table (arn text, confirmed boolean, error text)
language sql as $$
select * from queue.add_subscription(p_topic, p_subscription_id, p_owner, p_protocol, p_endpoint, p_attributes, p_filter,
    p_token, p_confirmation, p_topic_filters, p_account_filters, null, null)
$$;
