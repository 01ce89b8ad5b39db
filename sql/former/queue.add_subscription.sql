-- queue.add_subscription: as the previous release calls it, which knows no limits of filter policies.
-- Called by: Subscribe of the previous release.
create or replace function queue.add_subscription(
    p_topic text, p_subscription_id uuid, p_owner text, p_protocol text, p_endpoint text, p_attributes jsonb,
    p_filter jsonb, p_token text, p_confirmation text)
returns table (arn text, confirmed boolean, error text)
language sql as $$
select * from queue.add_subscription(p_topic, p_subscription_id, p_owner, p_protocol, p_endpoint, p_attributes,
    p_filter, p_token, p_confirmation, 0, 0)
$$;
