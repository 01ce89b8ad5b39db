-- queue.take_expired: hands out again the messages of a shard's leases that ended in (p_after, p_now). Messages that
-- were received p_max_receive_count times go to the dead-letter queue instead. Leases that are locked, since a consumer
-- acknowledges their messages at this moment, are skipped.
-- The caller is the shard's reader. Index: lease_visible_at. Called by: take_shard.
create or replace function queue.take_expired(
    p_queue_id int, p_shard int, p_after timestamptz, p_now timestamptz, p_max int, p_visibility interval,
    p_max_receive_count int, p_dead_letter_arn text)
returns setof queue.delivery
language plpgsql as $$
declare
    v_lease queue.lease;
    v_want int := p_max;
    v_rows int;
begin
    for v_lease in
        select * from queue.lease x
        where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, p_shard)
            and x.visible_at > p_after and x.visible_at < p_now and x.ids <> '{}'
        order by x.visible_at, x.pos limit p_max + 100 for update skip locked
    loop
        exit when v_want <= 0;
        if v_lease.receive_count >= p_max_receive_count
            and queue.dead_letter(p_queue_id, p_shard, v_lease, p_dead_letter_arn) then
            continue;
        end if;
        return query select * from queue.lease_again(v_lease, v_want, v_want, p_now, p_visibility);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
    end loop;
end $$;
