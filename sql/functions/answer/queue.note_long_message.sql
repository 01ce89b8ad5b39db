-- queue.note_long_message(body, bytes): returns the body, and notes for this transaction that a message of so many bytes is
-- handed out (longest_message). STABLE although it sets something: with a volatile function PostgreSQL would not inline
-- delivery_row.
create or replace function queue.note_long_message(p_body text, p_bytes int) returns text
language plpgsql stable as $$
begin
    perform set_config('queue.longest_message', greatest(p_bytes, queue.longest_message())::text, true);
    return p_body;
end $$;
