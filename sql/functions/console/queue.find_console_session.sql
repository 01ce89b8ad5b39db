-- queue.find_console_session(session): whose key a browser has signed in with: its account, id, user with the user's
-- policies (null: the account itself), and when the session is over. No row when it is unknown or over, or when its key
-- is revoked or expired. Index: primary keys.
create or replace function queue.find_console_session(p_session text)
returns table (account_id text, key_id text, user_name text, policies text[], expires_at timestamptz)
language sql stable as $$
with session as materialized (
    select s.* from queue.console_session s
    where s.session_id = p_session and s.expires_at > clock_timestamp()),
key as (
    select k.account_id, s.key_id, k.user_name, least(s.expires_at, k.expires_at) as expires_at
    from session s join queue.bearer_key k on s.kind = 'bearer' and k.key_id = s.key_id
    where k.revoked_at is null and coalesce(k.expires_at > clock_timestamp(), true)
    union all
    select k.account_id, s.key_id, k.user_name, least(s.expires_at, k.expires_at)
    from session s join queue.access_key k on s.kind = 'access' and k.access_key_id = s.key_id
    where k.revoked_at is null and coalesce(k.expires_at > clock_timestamp(), true))
select k.account_id, k.key_id, k.user_name, u.policies, k.expires_at
from key k left join queue.account_user u on u.account_id = k.account_id and u.name = k.user_name
$$;
