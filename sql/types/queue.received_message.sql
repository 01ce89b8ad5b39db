-- queue.received_message: a message as queue.receive, queue.receive_fifo and queue.pop hand it out. A type of its own,
-- since a column of a `returns table` may not have the name of a parameter (vt).
-- A type whose columns change gets a new name: the previous release's functions return this one.
do $$ begin
    if to_regtype('queue.received_message') is null then
        create type queue.received_message as (
            msg_id bigint, read_ct int, enqueued_at timestamptz, vt timestamptz, message jsonb, headers jsonb);
    end if;
end $$;
