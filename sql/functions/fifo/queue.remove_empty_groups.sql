-- queue.remove_empty_groups(queue, limit): removes up to p_limit groups that have been empty for a minute. It looks at every
-- group: the index by time has an entry for each time that a group became empty, which an old snapshot keeps.
-- Locks: the groups' rows, skipped when locked. Index: fifo_ready_pkey (the newest row of a group).
create or replace function queue.remove_empty_groups(p_queue_id int, p_limit int) returns void
language plpgsql as $$
declare
    v_groups bigint[];
begin
    v_groups := array(
        select g.group_key from queue.fifo_group g
        cross join lateral (
            select f.visible_at, f.changed_at from queue.fifo_ready f
            where f.group_key = g.group_key order by f.version desc limit 1) r
        where g.queue_id = p_queue_id and r.visible_at = 'infinity'
            and r.changed_at not between clock_timestamp() - interval '1 minute' and clock_timestamp()
        limit p_limit for update of g skip locked);
    v_groups := array(          -- a new statement: it sees what changed before the rows were locked
        select u.group_key from unnest(v_groups) u(group_key)
        where (select h.id from queue.first_group_message(u.group_key) h) is null);
    delete from queue.fifo_ready r where r.group_key = any (v_groups);
    delete from queue.fifo_group g where g.group_key = any (v_groups);
end $$;
