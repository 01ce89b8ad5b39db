-- When a FIFO group's first message may be received leaves queue.fifo_group, whose rows no longer change: a row a change
-- instead, of which the newest counts. A search begins at the newest entry of an index, or above those of the past, so it
-- reads no rows that are deleted and that somebody's old snapshot keeps. The times move with the functions that read them
-- (sql/types/queue.fifo_ready.sql).

create table queue.fifo_ready (
    version bigint generated always as identity,
    group_key bigint not null,
    visible_at timestamptz not null,    -- 'infinity': the group is empty
    changed_at timestamptz not null default clock_timestamp(),
    first_id bigint not null,           -- the group's messages have this id or higher ones
    queue_id int not null,
    primary key (group_key, version)    -- a group has one row, with the highest version it ever had
) with (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on);
create index fifo_ready_visible_at on queue.fifo_ready (queue.time_key(queue_id, -2), visible_at);
comment on table queue.fifo_ready is 'When the first message of each FIFO group may be received.';

-- The last searches for ready groups; the newest row of a queue counts. Unlogged: without it a search reads more.
create unlogged table queue.fifo_search (
    queue_id int not null,
    searched_at timestamptz not null,
    visible_at timestamptz not null,        -- no group was ready before
    late_at timestamptz not null,           -- when a search began two seconds back
    late_visible_at timestamptz not null,   -- no group was ready before, not even by a transaction of that time
    full_due_at timestamptz not null,       -- when a search should begin at the beginning of the index
    full_took interval not null,            -- how long the last one of these took
    primary key (queue_id, searched_at)
);
comment on table queue.fifo_search is 'Where searches for ready FIFO groups may begin.';

-- The index serves only queries that say "group_key > 0", as every group's is: one for a message by its id, planned while
-- the table is small, would else read the whole index. It replaces fifo_message_group with the functions that use it.
create index fifo_message_of_group on queue.fifo_message (group_key, id) where group_key > 0;
