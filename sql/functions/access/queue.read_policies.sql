-- queue.read_policies: returns the access policies of queues. Returns no row for an unknown queue.
--   `n` is the position in p_arns, from 1.
--   `policy` is null if the queue has no policy.
-- This file also contains read_topic_policies.
create or replace function queue.read_policies(p_arns text[])
returns table (n int, policy text, owner text, receiver text)
language sql stable as $$
    select a.n::int, q.attributes ->> 'Policy', q.account_id, null
    from unnest(p_arns) with ordinality as a (arn, n)
    join queue.queues q on q.arn = a.arn
$$;

-- queue.read_topic_policies: returns the access policies of topics, and the owners of subscriptions. Returns no row for
-- an unknown ARN.
--   `n` is the position in p_arns, from 1.
--   `policy` is null if the topic has no policy, or the ARN belongs to a subscription.
--   `owner` is the account that owns the topic or the subscription.
--   `receiver` is the account of the queue to which the subscription delivers.
create or replace function queue.read_topic_policies(p_arns text[])
returns table (n int, policy text, owner text, receiver text)
language sql stable as $$
    select a.n::int, t.attributes ->> 'Policy', t.account_id, null
    from unnest(p_arns) with ordinality as a (arn, n)
    join queue.topic t on t.arn = a.arn
    union all
    select a.n::int, null, s.owner, case when s.protocol = 'sqs' then split_part(s.endpoint, ':', 5) end
    from unnest(p_arns) with ordinality as a (arn, n)
    join queue.subscription s on s.arn = a.arn
$$;
