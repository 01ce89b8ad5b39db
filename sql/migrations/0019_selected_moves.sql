-- Message move tasks that move some of the messages: those of a list of ids, or those that pass a filter.
alter table queue.move_task
    add column ids bigint[],                -- public ids, ascending; null: not by ids
    add column filter jsonb,                -- of queue.find_messages; null: not by a filter. Both null: all messages
    add column place text,                  -- of a filter, after which it looks on; of ids, the last one done
    add column looked_at bigint not null default 0,
    add column skipped bigint not null default 0,   -- selected, but in flight, delayed, or without a queue to move to
    add column canary int,                  -- after so many it waits until it is told to go on; null: it does not wait
    add column continued_at timestamptz,    -- when it was told to
    add column ended_at timestamptz;
comment on column queue.move_task.ids is 'A task without ids and filter moves all messages, as StartMessageMoveTask does.';
