-- The first message of a FIFO group, and locks of groups.

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

-- queue.lock_groups_of_messages: locks the groups of FIFO messages until the end of the transaction. Locks the groups
-- in the order of their keys. Functions that change messages of several groups call this function first, so that
-- concurrent calls do not deadlock.
create or replace function queue.lock_groups_of_messages(p_ids bigint[]) returns void
language plpgsql as $$
begin
    perform from queue.fifo_group g
    -- Each id needs a separate look-up, because for `id = any (…)` the planner can choose a scan of all messages.
    where g.group_key = any (array(
        select (select m.group_key from queue.fifo_message m where m.id = u.id)
        from unnest(p_ids) u(id)))
    order by g.group_key for update;
end $$;

-- queue.try_lock_group: locks the row of a message group until the end of the transaction. Returns the group's key.
-- Creates a missing row. Returns null if another transaction has locked or is creating the row. The caller has locked
-- other groups, and therefore must not wait.
create or replace function queue.try_lock_group(p_queue_id int, p_group_id text) returns bigint
language plpgsql set lock_timeout = '1ms' as $$
declare
    v_key bigint;
begin
    select g.group_key into v_key from queue.fifo_group g
    where g.queue_id = p_queue_id and g.group_id = p_group_id for update skip locked;
    if v_key is null and not exists (
        select from queue.fifo_group g where g.queue_id = p_queue_id and g.group_id = p_group_id)
    then
        insert into queue.fifo_group (queue_id, group_id) values (p_queue_id, p_group_id)
        on conflict do nothing returning group_key into v_key;
        if v_key is not null then
            insert into queue.fifo_ready (group_key, queue_id, visible_at, first_id)
            values (v_key, p_queue_id, 'infinity', 0);
        end if;
    end if;
    return v_key;
exception when lock_not_available then
    return null;
end $$;
