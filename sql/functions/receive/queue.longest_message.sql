-- queue.longest_message(): returns the bytes of the longest message that this transaction has handed out and recorded
-- (note_long_message), and null if it recorded none.
create or replace function queue.longest_message() returns int
language sql stable as $$
select nullif(current_setting('queue.longest_message', true), '')::int
$$;
