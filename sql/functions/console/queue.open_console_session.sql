-- queue.open_console_session(session, kind, key, seconds): signs a browser in. p_session: SHA-256 of its cookie, in
-- hexadecimal; p_kind: access or bearer. It ends after p_seconds, or with its key. Sessions that are over are removed;
-- a key has at most 100, of which the oldest goes.
create or replace function queue.open_console_session(p_session text, p_kind text, p_key_id text, p_seconds int)
returns table (expires_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
begin
    delete from queue.console_session s where s.session_id in (
        select x.session_id from queue.console_session x where x.expires_at < clock_timestamp() limit 1000
        for update skip locked);
    delete from queue.console_session s where s.session_id in (
        select x.session_id from queue.console_session x where x.key_id = p_key_id
        order by x.created_at desc offset 99);
    return query
    insert into queue.console_session as s (session_id, kind, key_id, expires_at)
    values (p_session, p_kind, p_key_id, clock_timestamp() + p_seconds * interval '1 second')
    returning s.expires_at;
end $$;
