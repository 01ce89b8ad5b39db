-- queue.take_expired: hands out again the messages of a shard's leases that ended in (p_after, p_now). Messages that
-- were received p_max_receive_count times go to the dead-letter queue instead, when it exists; there they keep their
-- MessageId, body and time of sending. Leases that are locked, since a consumer acknowledges their messages at this
-- moment, are skipped. The caller is the shard's reader. Index: lease_visible_at.
create or replace function queue.take_expired(
    p_queue_id int, p_shard int, p_after timestamptz, p_now timestamptz, p_max int, p_visibility interval,
    p_max_receive_count int, p_dead_letter_arn text)
returns setof queue.received_row
language plpgsql as $$
declare
    v_lease queue.lease;
    v_want int := p_max;
    v_rows int;
    v_target int;
    v_moved_at timestamptz;
    v_redelivered int := 0;
begin
    if p_max_receive_count is not null then
        select q.queue_id into v_target from queue.queues q where q.arn = p_dead_letter_arn and not q.fifo;
    end if;
    for v_lease in
        select * from queue.lease x
        where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, p_shard)
            and x.visible_at > p_after and x.visible_at < p_now and x.ids <> '{}'
        order by x.visible_at, x.pos limit p_max + 100 for update skip locked
    loop
        exit when v_want <= 0;
        if v_lease.receive_count >= p_max_receive_count and v_target is not null then
            v_moved_at := clock_timestamp();
            insert into queue.side
            select r.* from (
                select * from queue.log l
                where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (v_lease.ids)
                    and l.id between v_lease.first_id and v_lease.pos     -- bounds the index scan; an array alone may not
                order by l.id) l
            cross join lateral jsonb_populate_record(null::queue.side, to_jsonb(l) || jsonb_build_object(
                'id', nextval('queue.side_id'), 'visible_at', v_moved_at, 'entered_at', v_moved_at, 'queue_id', v_target,
                'shard', -1, 'receive_count', 0, 'system', queue.dead_letter_system(p_queue_id, l.system,
                    v_lease.receive_count, v_lease.first_received_at))) r;
            get diagnostics v_rows = row_count;
            insert into queue.dead_letter_count (queue_id, messages) values (p_queue_id, v_rows);
            insert into queue.activity (queue_id, sent, dead_lettered)
            values (p_queue_id, 0, v_rows), (v_target, v_rows, 0);
            update queue.lease x
            set ids = '{}', done_at = v_moved_at, outcome = 'dead_lettered'
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = v_lease.pos;
            perform queue.notify_watchers(v_target, p_dead_letter_arn);
            continue;
        end if;
        return query select * from queue.lease_again(v_lease, v_want, v_want, p_now, p_visibility);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
        if v_lease.receive_count > 0 then
            v_redelivered := v_redelivered + v_rows;
        end if;
    end loop;
    if v_redelivered > 0 then
        insert into queue.activity (queue_id, redelivered) values (p_queue_id, v_redelivered);
    end if;
end $$;
