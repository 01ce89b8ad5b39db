-- queue.find_problems: returns problems of stored rows and rights, with a row for each problem. Reads all queues but
-- does not change rows. For FIFO queues, reads all groups. For other queues, reads mostly the ends of the indexes. The
-- subjects are:
--   `roles` means rights that are missing or too many (find_role_problems).
--   `sequences` means a sequence whose next number is already in use.
--   `fences` means messages that no receive would find. The cause is a shard without its cursor, an open lease before
--     the cursor's watermark, or a message of the log below its clean end.
--   `groups` means FIFO groups that have messages but count as empty, FIFO groups whose `first_id` is above a message's
--     id, and messages without a group.
--   `positions` means times in the future, because the clock went back.
--   `jumps` means ids that still have to jump (check_server).
--   `partitions` means days of a history that are not attached to the history's table.
create or replace function queue.find_problems(p_service_roles text[] default '{}')
returns table (subject text, problem text)
language plpgsql as $$
declare
    v_sequence record;
    v_highest bigint;
begin
    return query select 'roles', r.problem from queue.find_role_problems(p_service_roles) r;

    -- Sequences
    for v_sequence in
        select s.name, coalesce(u.tab, d.refobjid::regclass) as tab, coalesce(u.col, a.attname) as col,
            coalesce(u.rows, 'true') as rows, coalesce(p.last_value, 0) << coalesce(u.bits, 0) as last_value,
            (1 << coalesce(u.bits, 0)) - 1 as more
        from (select c.oid, c.relname as name from pg_class c
              where c.relnamespace = 'queue'::regnamespace and c.relkind = 'S'
                  -- history_id alone has no index, so max(history_id) would read the whole table.
                  and c.relname !~ 'history_id$') s
        join pg_sequences p on p.schemaname = 'queue' and p.sequencename = s.name
        left join (values ('fifo_id', 'queue.fifo_message'::regclass, 'id', 'true', 0),
            ('side_id', 'queue.side', 'id', 'shard = queue.side_shard()', 0),  -- Other rows have their id from the log.
            ('schedule_id', 'queue.schedule', 'schedule_id', 'true', 0),
            ('topic_sequence', 'queue.topic_deduplication', 'sequence_number', 'true', 0),
            ('event_block', 'queue.event', 'number', 'true', 10))           -- a value stands for 1,024 numbers
            u(seq, tab, col, rows, bits) on u.seq = s.name
        left join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid and d.deptype in ('a', 'i')
        left join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
    loop
        execute format('select max(%I) from %s where %s', v_sequence.col, v_sequence.tab, v_sequence.rows)
        into v_highest;
        if v_highest > v_sequence.last_value + v_sequence.more then
            subject := 'sequences';
            problem := format('%s stands at %s, %s.%s at %s', v_sequence.name, v_sequence.last_value, v_sequence.tab,
                v_sequence.col, v_highest);
            return next;
        end if;
    end loop;

    return query
    -- Fences
    select 'fences', format('%s, shard %s: %s', q.arn, s.shard, p.problem)
    from queue.queues q cross join lateral generate_series(0, q.shards - 1) s(shard)
    left join lateral (
        select x.pos, x.watermark, x.low from queue.lease x
        where x.queue_id = q.queue_id and x.shard = s.shard order by x.pos desc limit 1) c on true
    cross join lateral (
        select 'it has no cursor: its messages cannot be received' as problem where c.pos is null
        union all
        select 'an open lease ended before the watermark: its messages do not come again'
        where exists (select from queue.lease x
                      where queue.time_key(x.queue_id, x.shard) = queue.time_key(q.queue_id, s.shard)
                          and x.visible_at <= c.watermark and x.ids <> '{}')
        union all
        select 'a message lies below the clean end: it is not received'
        where exists (select from queue.log l
                      where l.queue_id = q.queue_id and l.shard = s.shard and l.id <= c.low)) p
    where not q.fifo
    union all
    select 'positions', format('the clock has gone back: %s has receives of %s', q.arn, c.watermark)
    from queue.queues q
    cross join lateral (
        select x.watermark from queue.lease x
        where x.queue_id = q.queue_id and x.shard = 0 order by x.pos desc limit 1) c
    where c.watermark > clock_timestamp() + interval '1 minute'
    union all
    select 'positions', format('the clock has gone back: the worker %s ran at %s', w.worker, w.ran_at)
    from queue.worker_position w where w.ran_at > clock_timestamp() + interval '1 minute'
    union all
    -- Groups
    select 'groups', format('%s: messages in %s of its groups are not received', q.arn, g.groups)
    from queue.queues q
    cross join lateral (
        select count(*) as groups from queue.fifo_group g
        left join lateral (
            select r.first_id, r.visible_at from queue.fifo_ready r
            where r.group_key = g.group_key order by r.version desc limit 1) r on true
        cross join lateral (
            select m.id from queue.fifo_message m
            where m.group_key = g.group_key and m.group_key > 0 order by m.id limit 1) m
        where g.queue_id = q.queue_id and (r.visible_at < 'infinity' and r.first_id <= m.id) is not true) g
    where q.fifo and g.groups > 0
    union all
    select 'groups', format('%s: %s no group', q.arn, case m.messages when 1 then '1 message has'
        else m.messages || ' messages have' end)
    from queue.queues q
    cross join lateral (
        select count(*) as messages from queue.fifo_message m
        where m.queue_id = q.queue_id and not exists (
            select from queue.fifo_group g where g.group_key = m.group_key)) m
    where q.fifo and m.messages > 0
    union all
    -- Jumps and partitions
    select 'jumps', 'ids have yet to jump: the worker `maintain` does it'
    where exists (select from queue.server s where s.jump_after is not null)
        or exists (select from queue.late_id_jump)
    union all
    select 'partitions', format('queue.%s is not attached to its table', c.relname)
    from pg_class c
    where c.relnamespace = 'queue'::regnamespace and c.relkind = 'r' and not c.relispartition
        and c.relname ~ '_[0-9]{8}$' and left(c.relname, -9) = any (queue.history_names());
end $$;
