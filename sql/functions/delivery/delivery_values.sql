-- Values of deliveries that several functions use.

-- queue.delivery_body: returns the text for a URL or a dead-letter queue. The envelope of an event is SNS's envelope
-- without a signature.
create or replace function queue.delivery_body(p_raw boolean, p_subscription_arn text, p_notice queue.notice)
returns text
language sql stable parallel safe
return case
    when not p_raw and (p_notice).head is not null
        then (p_notice).head || coalesce(p_subscription_arn, '') || coalesce((p_notice).tail, '')
    when not p_raw and (p_notice).kind = 'event' then json_build_object(
        'Type', 'Notification', 'MessageId', (p_notice).message_id, 'TopicArn', (p_notice).topic_arn,
        'Message', (p_notice).raw,
        'Timestamp', to_char((p_notice).created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
    else (p_notice).raw end;

-- queue.delivery_carriers: returns all values of the columns `carrier` of queue.outgoing_delivery and
-- queue.delivery_endpoint. A query for each carrier uses the indexes that begin with the column.
create or replace function queue.delivery_carriers() returns text[]
language sql immutable parallel safe
return array['gateway', 'http', 'lambda', 'mail'];

-- queue.delivery_host: returns the account, host and port of an endpoint. An example is `111122223333
-- hooks.example.com:443`. For other endpoints, the result is an account and a Lambda function, `sns://gateway` or
-- `smtp://mail`. Deliveries with the same result share a process's places for a host. The result contains the account,
-- so one account's slow endpoint does not delay other accounts.
create or replace function queue.delivery_host(p_account_id text, p_endpoint text) returns text
language sql immutable parallel safe
return p_account_id || ' ' || lower(case when p_endpoint like 'arn:%' then p_endpoint
        when p_endpoint !~* '^https?:' then substring(p_endpoint from '^[^:]*://[^/]*')
        else substring(p_endpoint from '^[^:]*://(?:[^/?#]*@)?([^/?#]*)') end) || case
    when p_endpoint !~* '^https?:'
        or p_endpoint ~ '^[^:]*://[^/?#]*:[0-9]+([/?#]|$)' then ''
    when p_endpoint ~* '^https:' then ':443' else ':80' end;

-- queue.wake_deliveries: wakes, at commit, a worker that waits for deliveries. Costs one index probe if no worker
-- waits.
create or replace function queue.wake_deliveries() returns void
language sql as $$
select queue.notify_watchers(0, 'deliveries')
$$;
