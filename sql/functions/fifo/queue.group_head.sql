-- queue.group_head: returns a FIFO group's first message. Returns no row if the group is empty.
--   `p_first_id` is at most the lowest id of the group's messages.
--   `fits` says whether the response has room for the message (receive_messages). The value is true if the message's
--     length is unknown.
-- PostgreSQL inlines this function into the calling statement. Uses the index fifo_message_of_group.
create or replace function queue.group_head(
    p_group_key bigint, p_first_id bigint, p_response_bytes int, p_response_format text)
returns table (visible_at timestamptz, receive_count int, sent_at timestamptz, fits boolean)
language sql stable as $$
select f.visible_at, f.receive_count, f.sent_at, queue.fits(f.response_bytes, p_response_bytes, p_response_format)
from queue.fifo_message f
where f.group_key = p_group_key and f.group_key > 0 and f.id >= p_first_id order by f.id limit 1
$$;
