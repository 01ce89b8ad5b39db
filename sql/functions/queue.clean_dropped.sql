-- queue.clean_dropped(queue, limit): removes up to p_limit rows of each table that a deleted queue left behind.
-- Returns rows removed. Called by: maintain_installation.
create or replace function queue.clean_dropped(p_queue_id int, p_limit int) returns bigint
language plpgsql as $$
declare
    v_table text;
    v_rows bigint;
    v_removed bigint := 0;
begin
    delete from queue.fifo_message m where m.group_key = any (array(
        select g.group_key from queue.fifo_group g where g.queue_id = p_queue_id));
    get diagnostics v_removed = row_count;
    foreach v_table in array
        array['log', 'lease', 'side', 'fifo_group', 'deduplication', 'archive', 'hole', 'watcher']
    loop
        execute format('delete from queue.%I where ctid = any (array(select ctid from queue.%I where queue_id = $1 limit $2))',
            v_table, v_table) using p_queue_id, p_limit;
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
    end loop;
    return v_removed;
end $$;
