-- queue.read_policies(arns): the access policies of queues; n is the position in p_arns, from 1. policy is null for a
-- queue without one; an unknown queue has no row. Index: queues (arn).
create or replace function queue.read_policies(p_arns text[])
returns table (n int, policy text, owner text, receiver text)
language sql stable as $$
    select a.n::int, q.attributes ->> 'Policy', q.account_id, null
    from unnest(p_arns) with ordinality as a (arn, n)
    join queue.queues q on q.arn = a.arn
$$;
