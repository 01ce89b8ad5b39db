-- queue.record_failure: stores why a receive of a message failed. Another failure of the same receive replaces the
-- error. Cuts and cleans the error (clean_error). Ignores a null or empty error. Locks the failure's row.
create or replace function queue.record_failure(p_queue_id int, p_message_id uuid, p_receive_count int, p_error text)
returns void
language sql as $$
insert into queue.failure as f (queue_id, message_id, receive_count, error)
select p_queue_id, p_message_id, p_receive_count, queue.clean_error(p_error) where p_error <> ''
on conflict (queue_id, message_id, receive_count)
do update set failed_at = clock_timestamp(), error = excluded.error
$$;
