-- queue.require_read_committed(): refuses a transaction whose snapshot is older than the locks it takes: it would hand
-- out again what others received since. Sending is fine under every isolation level (claim_shard).
-- Raises QU004 (isolation level other than READ COMMITTED). Called by: receive_messages,
-- purge_messages, maintain_queue, take_unreceived: whoever becomes the reader of a shard; claim_webhooks, settle_webhooks.
create or replace function queue.require_read_committed() returns void
language plpgsql as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'messages can only be received and removed under READ COMMITTED' using errcode = 'QU004';
    end if;
end $$;
