-- queue.finish_deletions: records up to p_limit deletions that can no longer be undone (delete_with_undo), and drops
-- their messages. Returns the number of messages. Skips locked rows. Uses the index pending_deletion_deleted_at.
create or replace function queue.finish_deletions(p_limit int) returns bigint
language plpgsql as $$
declare
    v_row record;
    v_finished bigint := 0;
begin
    for v_row in
        delete from queue.pending_deletion d where d.ctid = any (array(
            select e.ctid from queue.pending_deletion e
            where e.deleted_at <= (select clock_timestamp()) - interval '30 seconds'
            order by e.deleted_at limit p_limit for update skip locked))
        returning d.*
    loop
        perform queue.record_deletion(v_row.queue_id, v_row.public_id, v_row.message, v_row.deleted_at);
        v_finished := v_finished + 1;
    end loop;
    return v_finished;
end $$;
