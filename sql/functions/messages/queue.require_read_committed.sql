-- queue.require_read_committed: refuses a transaction whose snapshot is older than its locks. A transaction with an
-- older snapshot would receive messages that other receivers already have. Sending works at every isolation level
-- (send_messages). Raises QU004 (isolation level other than READ COMMITTED).
create or replace function queue.require_read_committed() returns void
language plpgsql as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'messages can only be received and removed under READ COMMITTED' using errcode = 'QU004';
    end if;
end $$;
