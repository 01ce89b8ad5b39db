-- queue.count_expired: counts expired messages in the queue's minutes and in the queue's measurement. `p_deleted_at` is
-- the time at which a consumer deleted the messages, which the caller has counted as deleted. Null means that no
-- consumer deleted the messages.
create or replace function queue.count_expired(
    p_queue_id int, p_messages bigint, p_deleted_at timestamptz default null) returns void
language plpgsql as $$
begin
    if p_messages > 0 then
        insert into queue.activity (queue_id, happened_at, deleted, expired)
        values (p_queue_id, coalesce(p_deleted_at, clock_timestamp()),
            case when p_deleted_at is null then 0 else -p_messages end, p_messages);
        insert into queue.outcome_count (queue_id, expired) values (p_queue_id, p_messages);
    end if;
end $$;
