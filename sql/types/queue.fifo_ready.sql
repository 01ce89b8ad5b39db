-- The times at which FIFO groups become ready move from queue.fifo_group, where release 0.0.2 has them, to
-- queue.fifo_ready: in the transaction that brings the functions, so that no function reads the other table.
do $$ begin
    if exists (
        select from pg_attribute a
        where a.attrelid = 'queue.fifo_group'::regclass and a.attname = 'visible_at' and not a.attisdropped)
    then
        lock table queue.fifo_group in access exclusive mode;
        insert into queue.fifo_ready (group_key, visible_at, first_id, queue_id)
        select g.group_key, g.visible_at, coalesce(
            (select m.id from queue.fifo_message m where m.group_key = g.group_key order by m.id limit 1), 0), g.queue_id
        from queue.fifo_group g;
        alter table queue.fifo_group drop column visible_at;
    end if;
end $$;

drop index if exists queue.fifo_message_group;
