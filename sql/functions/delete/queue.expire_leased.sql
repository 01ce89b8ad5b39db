-- queue.expire_leased: removes a lease's messages that were sent before p_sent_before, because they have expired.
-- Returns the lease with its other messages. The caller is the shard's reader and has locked the lease's row. Takes the
-- locks of purge_side.
create or replace function queue.expire_leased(p_lease queue.lease, p_sent_before timestamptz) returns queue.lease
language plpgsql as $$
declare
    v_ids bigint[];
    v_lease queue.lease;
begin
    v_ids := array(
        select l.id from queue.log l
        where l.queue_id = p_lease.queue_id and l.shard = p_lease.shard and l.id = any (p_lease.ids)
            and l.id between p_lease.first_id and p_lease.pos and l.sent_at < p_sent_before
        order by l.id);
    if v_ids = '{}' then
        return p_lease;
    end if;
    perform queue.unlease_messages(p_lease.queue_id, p_lease.shard, p_lease.pos, p_lease.receive_count, v_ids,
        clock_timestamp());
    perform queue.purge_side(p_lease.queue_id, p_sent_before);
    select * into v_lease from queue.lease x
    where x.queue_id = p_lease.queue_id and x.shard = p_lease.shard and x.pos = p_lease.pos;
    return v_lease;
end $$;
