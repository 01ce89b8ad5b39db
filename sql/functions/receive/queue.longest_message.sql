-- queue.longest_message: returns the bytes of the longest message that this transaction has recorded
-- (note_long_message), or null.
create or replace function queue.longest_message() returns int
language sql stable as $$
select nullif(current_setting('queue.longest_message', true), '')::int
$$;
