-- queue.clear_range(queue, shard, after, up to, cursor): deletes the finished messages of a shard above p_after up to
-- p_to, where no lease crosses the ends (lease_boundary), and records them in the history. All messages of a lease are
-- recorded together, so the messages of an open lease stay, even acknowledged ones.
-- It reads the open leases once: a lease that is acknowledged at the same time stays for the next call. The cursor's row
-- also stays, and the next cleaning, which begins at it, deletes it.
-- The caller is the shard's reader. Index: lease_pkey, log_pkey.
create or replace function queue.clear_range(p_queue_id int, p_shard int, p_after bigint, p_to bigint, p_cursor bigint)
returns void
language plpgsql as $$
declare
    v_done bigint[];
    v_kept bigint[];
begin
    with leases as materialized (
        select x.pos, x.ids, x.gone, x.gone_at from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos >= p_after and x.pos <= p_to)
    select
        (select array_agg(d.pos) from leases d where d.ids = '{}'),
        (select array_agg(k.id) from leases o cross join lateral (
            select unnest(o.ids) union all select g.id from unnest(o.gone, o.gone_at) g(id, at) where g.at is not null) k(id)
         where o.ids <> '{}' and k.id > p_after)
    into v_done, v_kept;
    if (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id) then
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, entered_by,
            group_ids, sent_at, finished_at)
        select p_queue_id, m.outcome, x.receive_count, x.first_received_at, x.redelivered_at, m.entered_by, m.group_ids,
            m.sent_at, m.finished_at
        from queue.lease x
        cross join lateral (        -- aggregated inside: the planner must read for each lease its range of the log
            select f.outcome, f.entered_by, case when count(f.group_id) > 0 then array_agg(f.group_id) end as group_ids,
                array_agg(f.sent_at) as sent_at, array_agg(f.finished_at) as finished_at
            from (
                select l.sent_at, l.system ->> 'MessageGroupId' as group_id, queue.entered_by(l.system) as entered_by,
                    case when l.id = any (x.gone) then 'deleted' else coalesce(x.outcome, 'deleted') end as outcome,
                    case when l.id = any (x.gone) then x.gone_at[array_position(x.gone, l.id)] else x.done_at end
                        as finished_at
                from queue.log l
                where l.queue_id = p_queue_id and l.shard = p_shard and l.id >= x.first_id and l.id <= x.pos) f
            where f.finished_at is not null     -- null: it moved to queue.side, where it is recorded
            group by f.outcome, f.entered_by) m
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = any (v_done);
    end if;
    delete from queue.lease x
    where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = any (v_done) and x.pos < p_cursor;
    if v_kept is null then
        delete from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id > p_after and l.id <= p_to;
        return;
    end if;
    delete from queue.log l
    where l.queue_id = p_queue_id and l.shard = p_shard and l.id > p_after and l.id <= p_to and l.id = any (array(
        select e.id from (      -- without a join, for which the planner might scan the log once for each id that stays
            select k.id from queue.log k
            where k.queue_id = p_queue_id and k.shard = p_shard and k.id > p_after and k.id <= p_to
            union all
            select unnest(v_kept)) e(id)
        group by e.id having count(*) = 1));
end $$;
