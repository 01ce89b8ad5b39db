-- queue.publish_to_outbox(topic, subscription, publications): keeps one outgoing message for each: for phones, mobile apps,
-- e-mail, functions and streams. A text message or a push gets the message, e-mail and the others its envelope, unless they
-- want it raw. The link that ends a subscription of e-mail is that of its envelope, whose `head` ends with the link up to the
-- subscription's ARN. One for a phone number that is opted out, or an endpoint that is disabled or gone, has failed already.
-- Called by: fan_out.
create or replace function queue.publish_to_outbox(
    p_topic queue.topic, p_subscription queue.subscription, p_entries queue.publication[]) returns void
language sql as $$
insert into queue.outgoing (account_id, region, protocol, kind, destination, message_id, topic_arn, subscription_arn,
    subject, body, attributes, unsubscribe_url, state, error)
select p_topic.account_id, p_topic.region, p_subscription.protocol, 'Notification', p_subscription.endpoint, e.message_id,
    p_topic.arn, p_subscription.arn, e.subject,
    case when p_subscription.raw or p_subscription.protocol in ('sms', 'application', 'email')
        then coalesce(e.contents -> c.text_of, e.contents -> '*') ->> 'raw'
        else queue.publication_text(e, p_subscription) end,
    e.attributes, case when p_subscription.protocol in ('email', 'email-json')
        then right(h.head, strpos(reverse(h.head), '"') - 1) || p_subscription.arn end,
    case when r.error is null then 'kept' else 'failed' end, r.error
from unnest(p_entries) e
cross join lateral (
    select case p_subscription.protocol when 'application' then split_part(p_subscription.endpoint, '/', 2)
        else p_subscription.protocol end as text_of) c
cross join lateral (select e.contents #>> '{*,head}' as head) h
cross join lateral (
    select queue.outgoing_refusal(p_topic.account_id, p_topic.region, p_subscription.protocol, p_subscription.endpoint) as error
    ) r
order by e.n
$$;
