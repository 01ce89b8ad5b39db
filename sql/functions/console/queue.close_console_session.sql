-- queue.close_console_session(session): signs a browser out. Returns one row: closed, false when it was not signed in.
create or replace function queue.close_console_session(p_session text) returns table (closed boolean)
language plpgsql as $$
begin
    delete from queue.console_session s where s.session_id = p_session;
    return query select found;
end $$;
