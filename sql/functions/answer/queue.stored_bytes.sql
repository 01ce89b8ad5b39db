-- queue.stored_bytes(message): bytes of body and attributes, before anything is escaped.
create or replace function queue.stored_bytes(p_message queue.received_row) returns int
language sql immutable parallel safe as $$
select octet_length(p_message.body) + coalesce(octet_length(p_message.attributes), 0)
    + coalesce(octet_length(p_message.system), 0)
$$;
