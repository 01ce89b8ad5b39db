-- The users of an account and their policies.

-- queue.read_policies: returns the access policies of queues. Returns no row for an unknown queue.
--   `n` is the position in p_arns, from 1.
--   `policy` is null if the queue has no policy.
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

-- queue.set_user: creates a user or replaces a user's policies. The column `created` says whether the user is new.
-- Raises 23514 if the name or account is invalid.
create or replace function queue.set_user(p_account_id text, p_name text, p_policies text[])
returns table (created boolean)
language plpgsql as $$
begin
    insert into queue.account_user (account_id, name, policies) values (p_account_id, p_name, p_policies)
    on conflict do nothing;
    if found then
        return query select true;
        return;
    end if;
    update queue.account_user u set policies = p_policies where u.account_id = p_account_id and u.name = p_name;
    return query select false;
end $$;

-- queue.end_user: deletes a user and revokes the user's keys. The column `found` says whether the user existed. A later
-- user with this name does not receive these keys.
create or replace function queue.end_user(p_account_id text, p_name text) returns table (found boolean)
language plpgsql as $$
begin
    update queue.access_key k set revoked_at = coalesce(k.revoked_at, clock_timestamp()), user_name = null
    where k.account_id = p_account_id and k.user_name = p_name;
    update queue.bearer_key k set revoked_at = coalesce(k.revoked_at, clock_timestamp()), user_name = null
    where k.account_id = p_account_id and k.user_name = p_name;
    delete from queue.account_user u where u.account_id = p_account_id and u.name = p_name;
    return query select found;
end $$;

-- queue.list_users: returns the account's users with their policies, by account and name.
--   `p_account_id` is null for the users of all accounts.
create or replace function queue.list_users(p_account_id text)
returns table (account_id text, name text, policies text[], created_at timestamptz)
language sql stable as $$
    select u.account_id, u.name, u.policies, u.created_at from queue.account_user u
    where p_account_id is null or u.account_id = p_account_id
    order by 1, 2
$$;
