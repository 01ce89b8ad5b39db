-- Ids after a failover or a restore go on far above those that the lost part of the database may have given out.

create table queue.server (
    only_row boolean primary key default true check (only_row),
    system_identifier bigint not null,      -- of the cluster: pg_control_system()
    timeline int not null,                  -- of its write-ahead log: another one after a promotion or a recovery
    noticed_at timestamptz not null default clock_timestamp(),
    jump_after int                          -- queues up to this id have jumped; null: all have
);
comment on table queue.server is 'Which server the ids of this database were given out by.';

-- Ranges of ids that shards have jumped over. The last id of each is in queue.hole, too, so that senders go on above it.
create table queue.id_jump (
    queue_id int not null,
    shard smallint not null,
    first_id bigint not null,
    last_id bigint not null,
    primary key (queue_id, shard, last_id)
);
comment on table queue.id_jump is 'Ids that no message has had, for exact counts.';

-- Shards that had a writer when their queue jumped.
create table queue.late_id_jump (
    queue_id int not null,
    shard smallint not null,
    primary key (queue_id, shard)
);
comment on table queue.late_id_jump is 'Shards that have yet to jump.';
