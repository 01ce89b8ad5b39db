-- queue.find_test_target: returns the target of a test event to a URL. The target is a confirmed subscription to a
-- topic of the account, or a binding of routing keys if no subscription exists. `raw` says whether the message has no
-- envelope. Returns no row if the URL has neither a subscription nor a binding. Uses the indexes
-- topic_account_id_region_name_key, subscription_topic_id_protocol_endpoint_key and binding_endpoint.
create or replace function queue.find_test_target(p_account_id text, p_region text, p_endpoint text)
returns table (topic_arn text, signature_version text, subscription_arn text, binding_id bigint, raw boolean)
language sql stable as $$
(select t.arn, coalesce(t.attributes ->> 'SignatureVersion', '1'), s.arn, null::bigint, s.raw
from queue.topic t
join queue.subscription s on s.topic_id = t.topic_id and s.protocol in ('http', 'https') and s.endpoint = p_endpoint
where t.account_id = p_account_id and t.region = p_region and s.confirmed
limit 1)
union all
(select null, null, null, b.binding_id, not b.envelope
from queue.binding b
where b.endpoint = p_endpoint and b.account_id = p_account_id and b.region = p_region and b.protocol <> 'queue'
limit 1)
limit 1
$$;
