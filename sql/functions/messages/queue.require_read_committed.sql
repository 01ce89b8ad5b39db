-- queue.require_read_committed(): refuses a transaction whose snapshot is older than its locks, because such a
-- transaction would hand out messages again that other receivers have got in the meantime. Sending is allowed under
-- every isolation level (send_messages). Raises QU004 (isolation level other than READ COMMITTED).
create or replace function queue.require_read_committed() returns void
language plpgsql as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'messages can only be received and removed under READ COMMITTED' using errcode = 'QU004';
    end if;
end $$;
