-- queue.update_groups: stores when the first messages of groups become available, after a change of their messages. The
-- end of a message's retention period also makes its group ready, because an expired message does not block receives
-- (take_groups). A ready group keeps its place in the order of groups. An empty group's row stays for a minute
-- (maintain_queue), because a group that is often deleted and recreated would leave a dead row each time. The caller
-- has locked the groups' rows in queue.fifo_group.
-- This file also contains retention_end.
create or replace function queue.update_groups(p_group_keys bigint[]) returns void
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    with head as materialized (
        select u.group_key, h.place, h.queue_id, h.first_id,
            case when h.visible_at is null then 'infinity'
                when h.visible_at > v_now
                    then least(h.visible_at, greatest(queue.retention_end(h.queue_id, h.sent_at), v_now))
                else v_now end as visible_at
        from unnest(p_group_keys) u(group_key)
        cross join lateral queue.first_group_message(u.group_key) h
        where (h.ready_at <= v_now and h.visible_at <= v_now) is not true),
    replaced as (
        delete from queue.fifo_ready r where r.ctid = any (array(select h.place from head h)))
    insert into queue.fifo_ready (group_key, queue_id, visible_at, first_id)
    select h.group_key, h.queue_id, h.visible_at, h.first_id from head h;
end $$;

-- queue.retention_end: returns when a message's retention period ends. Is written in PL/pgSQL, so update_groups runs
-- the query only if a group's first message is invisible.
create or replace function queue.retention_end(p_queue_id int, p_sent_at timestamptz) returns timestamptz
language plpgsql stable as $$
begin
    return (select p_sent_at + q.retention_seconds * interval '1 second' from queue.queues q
        where q.queue_id = p_queue_id);
end $$;
