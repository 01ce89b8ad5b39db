-- queue.delete_schedule(name): deletes a schedule of the default account and group inside the caller's transaction.
-- Returns whether there was one. SQL interface.
create or replace function queue.delete_schedule(p_name text) returns boolean
language sql volatile as $$
select d.dropped from queue.drop_schedule('000000000000', 'us-east-1', 'default', p_name) d
$$;
