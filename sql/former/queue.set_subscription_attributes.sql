-- queue.set_subscription_attributes: without the policies of queues.
-- Called by: SetSubscriptionAttributes of the previous release.
create or replace function queue.set_subscription_attributes(
    p_arn text, p_known jsonb, p_attributes jsonb, p_filter jsonb, p_topic_filters int, p_account_filters int)
returns table (error text)
language sql as $$
select * from queue.set_subscription_attributes(p_arn, p_known, p_attributes, p_filter, p_topic_filters,
    p_account_filters, null)
$$;
