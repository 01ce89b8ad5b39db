-- Queues and tables that maintenance chooses.

-- queue.next_queues: returns the next p_limit queues for a worker. A round begins with 0, which means the work that
-- does not belong to a queue. Returns no row once after the last queue. The next round begins at least p_pause_ms
-- later. All processes of an installation share the round and its pause. A stored time in the future does not count,
-- because it means that the clock went back. Locks the worker's row.
create or replace function queue.next_queues(p_worker text, p_limit int, p_pause_ms int default 0)
returns table (queue_id int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_worker queue.worker_position;
    v_ids int[];
begin
    insert into queue.worker_position (worker, position, ran_at) values (p_worker, 0, '-infinity')
    on conflict do nothing;
    select * into v_worker from queue.worker_position w where w.worker = p_worker for update;
    if v_worker.position = 0 and v_worker.ran_at > clock_timestamp() - p_pause_ms * interval '1 millisecond'
        and v_worker.ran_at <= clock_timestamp()
    then
        return;
    end if;
    v_ids := array(
        select q.queue_id from queue.queues q where q.queue_id > v_worker.position order by q.queue_id limit p_limit);
    update queue.worker_position w
    set position = case when v_ids <> '{}' then v_ids[cardinality(v_ids)]
            -- If the installation has no queues, the next call ends the round.
            when v_worker.position = 0 then 9223372036854775807
            else 0 end,
        ran_at = clock_timestamp()
    where w.worker = p_worker;
    if v_worker.position = 0 then
        v_ids := 0 || v_ids;
    end if;
    return query select u from unnest(v_ids) u;
end $$;

-- queue.queues_with_leftover_rows: returns the queues of a list that have rows for maintain_queue to clean. Leftover
-- rows are messages in any state, groups, archived messages and a count of messages in flight. A check by this function
-- costs a tenth of a call of maintain_queue. Uses the indexes lease_pkey, log_pkey, side_visible_at,
-- fifo_group_queue_id_group_id_key, archive_queue and deferred_pkey.
create or replace function queue.queues_with_leftover_rows(p_queue_ids int[]) returns table (queue_id int)
language plpgsql as $$       -- PL/pgSQL keeps the plan, and planning costs twice as much as the query.
#variable_conflict use_column
begin
return query
select q.queue_id
from unnest(p_queue_ids) with ordinality u(queue_id, n)
join queue.queues q on q.queue_id = u.queue_id
where q.counts_in_flight
    or exists (select from queue.archive a where a.queue_id = q.queue_id)
    or case when q.fifo then exists (select from queue.fifo_group g where g.queue_id = q.queue_id)
        else exists (select from queue.side s where queue.side_key(s.queue_id) = queue.side_key(q.queue_id))
            or exists (select from queue.deferred d where d.queue_id = q.queue_id)
            or exists (
                select from generate_series(0, q.shards - 1) s(shard)
                cross join lateral (
                    select c.pos, c.low from queue.lease c
                    where c.queue_id = q.queue_id and c.shard = s.shard
                    order by c.pos desc limit 1) cursor
                where cursor.pos <> cursor.low or exists (
                    select from queue.log l
                    where l.queue_id = q.queue_id and l.shard = s.shard and l.id > cursor.pos)) end
order by u.n;
end $$;

-- queue.refresh_statistics: analyzes the table of this schema with the oldest statistics, if autovacuum is late.
-- Returns the number of tables, 0 or 1. Autovacuum acts when a tenth of a table has changed, and this function acts
-- when three tenths have changed. Skips locked tables and tables that were analyzed within a minute. Analyzes one table
-- in a call, with a sample of fixed size, so the call's duration is limited. Runs with the rights of its owner, which
-- owns the tables. Takes a share update exclusive lock, which blocks only vacuum.
create or replace function queue.refresh_statistics() returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
    v_table regclass;
begin
    select s.relid into v_table
    from pg_stat_user_tables s join pg_class c on c.oid = s.relid
    where s.schemaname = 'queue' and s.n_mod_since_analyze > 1000 + 0.3 * greatest(c.reltuples, 0)
        and clock_timestamp() - interval '1 minute' > coalesce(greatest(s.last_analyze, s.last_autoanalyze),
            '-infinity')
    order by s.n_mod_since_analyze / (1000 + greatest(c.reltuples, 0)) desc limit 1;
    if v_table is null then
        return 0;
    end if;
    execute format('analyze (skip_locked) %s', v_table);
    return 1;
end $$;
