-- The first message of a FIFO group.

-- queue.first_group_message: returns the readiness of a message group and its first message.
--   `place` is the ctid of the newest row in queue.fifo_ready.
--   `ready_at` is the time at which the group became ready or will become ready.
--   `first_id` is at most the lowest id of the group's messages.
--   `id`, `visible_at` and `sent_at` describe the first message. These three columns are null if the group is empty.
-- Uses the indexes fifo_ready_pkey and fifo_message_of_group.
create or replace function queue.first_group_message(p_group_key bigint)
returns table (
    place tid, queue_id int, ready_at timestamptz, first_id bigint, id bigint, visible_at timestamptz,
    sent_at timestamptz)
language sql stable as $$
select r.place, r.queue_id, r.visible_at, coalesce(m.id, r.first_id), m.id, m.visible_at, m.sent_at
from (select f.ctid as place, f.queue_id, f.visible_at, f.first_id from queue.fifo_ready f
      where f.group_key = p_group_key order by f.version desc limit 1) r
left join lateral (
    select f.id, f.visible_at, f.sent_at from queue.fifo_message f
    where f.group_key = p_group_key and f.group_key > 0 and f.id >= r.first_id order by f.id limit 1) m on true
$$;

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
