-- queue.read_policies(arns): returns the access policies of queues. n is the position in p_arns, from 1. policy is null
-- if a queue has no policy. An unknown queue has no row. Index: queues (arn).
create or replace function queue.read_policies(p_arns text[])
returns table (n int, policy text, owner text, receiver text)
language sql stable as $$
    select a.n::int, q.attributes ->> 'Policy', q.account_id, null
    from unnest(p_arns) with ordinality as a (arn, n)
    join queue.queues q on q.arn = a.arn
$$;

-- queue.read_topic_policies(arns): returns the access policies of topics. n is the position in p_arns, from 1. policy
-- is null if a topic sets none. The row for the ARN of a subscription has no policy. It has the owner of the
-- subscription, and the account of the queue to which the subscription delivers. An unknown ARN has no row.
-- Index: topic (arn), subscription (arn).
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
