-- queue.longest_message(): bytes of the longest message that this transaction has handed out and noted
-- (note_long_message); null without one.
create or replace function queue.longest_message() returns int
language sql stable as $$
select nullif(current_setting('queue.longest_message', true), '')::int
$$;
