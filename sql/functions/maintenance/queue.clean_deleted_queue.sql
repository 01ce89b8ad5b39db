-- queue.clean_deleted_queue(queue, limit): removes up to p_limit rows of each table that a deleted queue left behind.
-- Returns rows removed. Locked rows stay for a later call: a sender may keep a FIFO group locked for long.
create or replace function queue.clean_deleted_queue(p_queue_id int, p_limit int) returns bigint
language plpgsql as $$
declare
    v_table text;
    v_rows bigint;
    v_removed bigint := 0;
begin
    delete from queue.fifo_message m where m.ctid = any (array(
        select f.ctid from queue.fifo_group g join queue.fifo_message f on f.group_key = g.group_key and f.group_key > 0
        where g.queue_id = p_queue_id limit p_limit for update of f skip locked));
    get diagnostics v_removed = row_count;
    if v_removed = p_limit then
        return v_removed;       -- the groups stay: the next call finds the other messages by them
    end if;
    foreach v_table in array
        array['log', 'lease', 'side', 'fifo_group', 'fifo_ready', 'fifo_search', 'deduplication', 'archive', 'hole',
            'id_jump', 'late_id_jump', 'watcher', 'move_task', 'deferred', 'noise', 'sweep', 'in_flight',
            'receive_attempt']
    loop
        execute format('delete from queue.%I where ctid = any (array(select ctid from queue.%I where queue_id = $1 limit $2 for update skip locked))',
            v_table, v_table) using p_queue_id, p_limit;
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
    end loop;
    return v_removed;
end $$;
