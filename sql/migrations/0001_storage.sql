-- Storage of queues: a log, leases and a slow lane for standard queues, rows and groups for FIFO queues.
-- Why it looks like this: docs/how_it_works.md. Tables change only in numbered, immutable migrations.

create table queue.queues (
    queue_id int generated always as identity primary key,
    account_id text not null,
    region text not null,
    name text not null,
    arn text not null generated always as ('arn:aws:sqs:' || region || ':' || account_id || ':' || name) stored unique,
    fifo boolean not null generated always as (right(name, 5) = '.fifo') stored,
    shards smallint not null check (shards between 1 and 64),
    created_at timestamptz not null default clock_timestamp(),
    modified_at timestamptz not null default clock_timestamp(),
    purged_at timestamptz,
    attributes jsonb not null,      -- as the user wrote them, defaults included; the columns below are read from here
    tags jsonb not null default '{}',
    delay_seconds int not null generated always as ((attributes ->> 'DelaySeconds')::int) stored,
    visibility_timeout_seconds int not null generated always as ((attributes ->> 'VisibilityTimeout')::int) stored,
    wait_seconds int not null generated always as ((attributes ->> 'ReceiveMessageWaitTimeSeconds')::int) stored,
    retention_seconds int not null generated always as ((attributes ->> 'MessageRetentionPeriod')::int) stored,
    maximum_message_bytes int not null generated always as ((attributes ->> 'MaximumMessageSize')::int) stored,
    content_based_deduplication boolean not null
        generated always as (coalesce((attributes ->> 'ContentBasedDeduplication')::boolean, false)) stored,
    deduplicates_groups boolean not null
        generated always as (coalesce(attributes ->> 'DeduplicationScope', 'queue') = 'messageGroup') stored,
    dead_letter_arn text generated always as ((attributes ->> 'RedrivePolicy')::jsonb ->> 'deadLetterTargetArn') stored,
    max_receive_count int
        generated always as (((attributes ->> 'RedrivePolicy')::jsonb ->> 'maxReceiveCount')::int) stored,
    archives boolean not null generated always as (coalesce((attributes ->> 'archive')::boolean, false)) stored,
    keeps_history boolean not null generated always as (coalesce((attributes ->> 'history')::boolean, true)) stored,
    unique (account_id, region, name)
);
comment on table queue.queues is 'One row a queue; its address everywhere else is the ARN.';

create table queue.dropped_queue (
    queue_id int primary key,
    arn text not null,
    dropped_at timestamptz not null default clock_timestamp()
);
create index dropped_queue_arn on queue.dropped_queue (arn, dropped_at);
comment on table queue.dropped_queue is 'Deleted queues: their messages are cleaned piece by piece, their names may be refused for a while.';

-- Indexes by time start with this expression instead of queue_id: a look-up by queue, shard and id must never take one
-- of them, which it would, on the statistics of a small table, and read a thousand rows for one.
create function queue.time_key(p_queue_id int, p_shard int) returns bigint
language sql immutable parallel safe
return (p_queue_id::bigint << 8) | (p_shard + 2);

-- The log: append only. A shard has one writing transaction at a time, so its ids have no gaps and become visible in
-- the order of ids: a cursor can never pass a row that is not committed yet.
create table queue.log (
    id bigint not null,
    sent_at timestamptz not null,
    message_id uuid not null,
    queue_id int not null,
    shard smallint not null,
    body text not null,
    attributes jsonb,               -- message attributes in the shape of AWS's JSON
    system jsonb,                   -- AWSTraceHeader, MessageGroupId, DeadLetterQueueSourceArn, …
    primary key (queue_id, shard, id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- A lease: the messages first_id..pos of a shard that were handed out together. The row with the highest pos of a
-- shard is the shard's cursor: everything up to pos was handed out at least once. Cursor rows are inserted, never moved.
create table queue.lease (
    pos bigint not null,
    first_id bigint not null,
    visible_at timestamptz not null,
    first_received_at timestamptz,
    watermark timestamptz not null, -- newest row: no lease with messages left ends at or before it
    low bigint not null,            -- newest row: everything up to it is deleted
    queue_id int not null,
    receive_count int not null,     -- deliveries so far, of every message of the lease
    shard smallint not null,
    ids bigint[] not null,          -- not acknowledged yet; empty = done
    gone bigint[],                  -- left before the others …
    gone_at timestamptz[],          -- … acknowledged then, or null: moved to the slow lane or a dead-letter queue
    done_at timestamptz,            -- when the last ones were acknowledged
    outcome text,                   -- null: deleted by the consumer; else purged, expired
    primary key (queue_id, shard, pos)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index lease_visible_at on queue.lease (queue.time_key(queue_id, shard), visible_at);

-- The slow lane, one row a message: delays, changed visibility, arrivals in a dead-letter queue, "all shards busy".
create table queue.side (
    id bigint not null,
    visible_at timestamptz not null,
    sent_at timestamptz not null,
    first_received_at timestamptz,
    message_id uuid not null,
    queue_id int not null,
    receive_count int not null default 0,
    shard smallint not null,        -- -1: born here; else the shard and id that it had in the log
    body text not null,
    attributes jsonb,
    system jsonb,
    primary key (queue_id, shard, id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index side_visible_at on queue.side (queue.time_key(queue_id, -1), visible_at);
create sequence queue.side_id;

-- FIFO: a row a message, a row a group. The group's row is its lock: senders keep it until commit, so ids of a group
-- become visible in order; receivers skip a locked group. visible_at is when the group's first message may be received.
create table queue.fifo_group (
    group_key bigint generated always as identity primary key,
    visible_at timestamptz not null,
    queue_id int not null,
    group_id text not null,
    unique (queue_id, group_id)
) with (fillfactor = 60);
create index fifo_group_visible_at on queue.fifo_group (queue.time_key(queue_id, -2), visible_at);

create table queue.fifo_message (
    id bigint primary key,          -- from queue.fifo_id: also the sequence number
    group_key bigint not null,
    visible_at timestamptz not null,
    sent_at timestamptz not null,
    first_received_at timestamptz,
    message_id uuid not null,
    queue_id int not null,
    receive_count int not null default 0,
    deduplication_id text not null,
    body text not null,
    attributes jsonb,
    system jsonb
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index fifo_message_group on queue.fifo_message (group_key, id);
create sequence queue.fifo_id;

create table queue.deduplication (
    queue_id int not null,
    scope text not null,            -- '' for the whole queue, else the message group
    deduplication_id text not null,
    message_id uuid not null,
    id bigint not null,
    expires_at timestamptz not null,
    primary key (queue_id, scope, deduplication_id)
);
create index deduplication_expires_at on queue.deduplication (expires_at);

-- What became of messages, without bodies, for metrics: one row for messages received together.
create table queue.history (
    recorded_at timestamptz not null default clock_timestamp(),
    first_received_at timestamptz,
    queue_id int not null,
    receive_count int not null,
    outcome text not null,          -- deleted, purged, expired, dead_lettered
    group_id text,
    sent_at timestamptz[] not null,
    finished_at timestamptz[] not null
) partition by range (recorded_at);
create table queue.history_default partition of queue.history default;
create index history_queue on queue.history (queue_id, recorded_at);

create table queue.archive (
    archive_id bigint generated always as identity primary key,
    queue_id int not null,
    public_id bigint not null,
    message_id uuid not null,
    sent_at timestamptz not null,
    archived_at timestamptz not null default clock_timestamp(),
    receive_count int not null,
    body text not null,
    attributes jsonb,
    system jsonb
);
create index archive_queue on queue.archive (queue_id, archive_id);

-- Who waits for a queue. A sender that finds a fresh row removes it and notifies; unlogged, since waiters look each
-- second anyway. The time is part of the key: a look starts above the dead entries of the past.
create unlogged table queue.watcher (
    queue_id int not null,
    registered_at timestamptz not null default clock_timestamp(),
    watcher uuid not null,
    primary key (queue_id, registered_at, watcher)
) with (autovacuum_vacuum_scale_factor = 0.02);

create table queue.secret (
    name text primary key,
    value bytea not null,
    created_at timestamptz not null default now()
);
comment on table queue.secret is 'Keys that every process and function must share, such as the one that seals receipt handles.';

-- One row of a receive. The first row of an answer is its header: error and wait_seconds, the rest null.
create type queue.delivery as (
    error text,
    wait_seconds int,
    queue_id int,
    shard smallint,                 -- >= 0 log, -1 slow lane, -2 FIFO
    pos bigint,                     -- the lease, 0 where there is none
    id bigint,
    receive_count int,
    message_id text,
    sent_at_ms bigint,
    first_received_at_ms bigint,
    body text,
    attributes text,
    system text,
    public_id bigint,
    visible_at_ms bigint
);

-- Messages that were deleted before anybody received them: holes above a cursor, for exact counts.
create table queue.hole (
    queue_id int not null,
    shard smallint not null,
    id bigint not null,
    primary key (queue_id, shard, id)
);

-- Where a bounded worker goes on in its next run.
create table queue.worker_position (
    worker text primary key,
    position bigint not null,
    ran_at timestamptz not null default clock_timestamp()
);
