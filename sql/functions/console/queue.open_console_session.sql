-- queue.open_console_session: signs a browser in. Removes expired sessions.
--   `p_session` is the SHA-256 of the cookie, in hexadecimal.
--   `p_kind` is access or bearer.
-- The session ends after p_seconds, or when its key expires or is revoked. A key has at most 100 sessions, so a new
-- session can replace the oldest session.
-- This file also contains find_console_session and close_console_session.
create or replace function queue.open_console_session(p_session text, p_kind text, p_key_id text, p_seconds int)
returns table (expires_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
begin
    delete from queue.console_session s where s.session_id in (
        -- One call removes at most 1,000 sessions.
        select x.session_id from queue.console_session x where x.expires_at < (select clock_timestamp()) limit 1000
        for update skip locked);
    delete from queue.console_session s where s.session_id in (
        select x.session_id from queue.console_session x where x.key_id = p_key_id
        order by x.created_at desc offset 99);
    return query
    insert into queue.console_session as s (session_id, kind, key_id, expires_at)
    values (p_session, p_kind, p_key_id, clock_timestamp() + p_seconds * interval '1 second')
    returning s.expires_at;
end $$;

-- queue.find_console_session: returns the user and the policies of a signed-in browser. Returns no row if the session
-- is unknown or expired, or if its key is revoked or expired. If the key belongs to a user, `user_name` and `policies`
-- describe the user. Both columns are null if the key belongs to the account itself. `expires_at` is the earlier of the
-- times at which the session and its key expire.
create or replace function queue.find_console_session(p_session text)
returns table (account_id text, key_id text, user_name text, policies text[], expires_at timestamptz)
language sql stable as $$
with session as materialized (
    select s.* from queue.console_session s
    where s.session_id = p_session and s.expires_at > (select clock_timestamp())),
key as (
    select k.account_id, s.key_id, k.user_name, least(s.expires_at, k.expires_at) as expires_at
    from session s join queue.bearer_key k on s.kind = 'bearer' and k.key_id = s.key_id
    where k.revoked_at is null and coalesce(k.expires_at > (select clock_timestamp()), true)
    union all
    select k.account_id, s.key_id, k.user_name, least(s.expires_at, k.expires_at)
    from session s join queue.access_key k on s.kind = 'access' and k.access_key_id = s.key_id
    where k.revoked_at is null and coalesce(k.expires_at > (select clock_timestamp()), true))
select k.account_id, k.key_id, k.user_name, u.policies, k.expires_at
from key k left join queue.account_user u on u.account_id = k.account_id and u.name = k.user_name
$$;

-- queue.close_console_session: signs a browser out. The column `closed` says whether the browser was signed in.
create or replace function queue.close_console_session(p_session text) returns table (closed boolean)
language plpgsql as $$
begin
    delete from queue.console_session s where s.session_id = p_session;
    return query select found;
end $$;
