-- queue.lock_readers_of_messages: makes this transaction the reader of the shards that contain unreceived messages from
-- a list. No other transaction can then receive these messages. A caller locks the readers before leases, as a purge
-- does. Locks the readers from the highest shard to the lowest.
create or replace function queue.lock_readers_of_messages(p_queue_id int, p_public_ids bigint[]) returns void
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(queue.lock_key(1, p_queue_id, s.shard))
    from (
        select distinct (u & 255)::int - 2 as shard
        from unnest(p_public_ids) u
        where u & 255 >= 2 and u >> 8 > (
            select max(x.pos) from queue.lease x where x.queue_id = p_queue_id and x.shard = (u & 255) - 2)
        order by 1 desc) s;
end $$;
