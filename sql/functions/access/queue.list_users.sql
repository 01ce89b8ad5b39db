-- queue.list_users(): every user with its policies, by account and name.
create or replace function queue.list_users()
returns table (account_id text, name text, policies text[], created_at timestamptz)
language sql stable as $$
    select u.account_id, u.name, u.policies, u.created_at from queue.account_user u order by 1, 2
$$;
