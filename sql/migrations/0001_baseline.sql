-- This file creates all tables of Penstock. docs/explain/how_it_works.md explains the design of the tables. The
-- subjects, in this order, are:
--
--   queues · standard queues · fair queues · FIFO queues · ids after a failover · limits · dead letters
--   history and archive · long polls · topics · phones and mobile apps · mail · routed events · deliveries
--   event source mappings · schedules · access and keys · the console · metrics · workers · compression
--
-- Until release 0.1.0, every change to a table is an edit of this file. After the release, every change is a migration
-- (CONTRIBUTING.md).
--
-- Functions pass these values to each other by settings, which last until the end of the transaction:
--
--   `queue.reads` is 'on' if the transaction has locked the reader of a shard. The transaction then waits for no other
--     reader.
--   `queue.passed_over` is 'on' if take_groups passed over a message that is too long for the response
--     (receive_response).
--   `queue.longest_message` is the number of bytes of the longest message that build_received_row returned
--     (queue.longest_message()).
--   `queue.guarded` is 'on' if this transaction has a row in queue.prepare_guard.
--   `queue.watcher` is the id of the process on this connection, which notify_watchers does not notify. The container
--     sets this value for the session. `publish_messages` and `transact` clear the value, so PostgreSQL notifies all
--     processes.


-- Queues ------------------------------------------------------------------------------------------------------------

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
    -- The column has the attributes as the user wrote them, with defaults. The generated columns read these attributes.
    attributes jsonb not null,
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
    paused boolean not null generated always as (coalesce((attributes ->> 'paused')::boolean, false)) stored,
    keeps_history boolean not null generated always as (coalesce((attributes ->> 'history')::boolean, true)) stored,
    traces boolean not null generated always as (coalesce((attributes ->> 'PenstockTrace')::boolean, false)) stored,
    -- The queue can be near its limit of messages in flight, so receives count these messages.
    counts_in_flight boolean not null default false,
    -- A user switched the attribute `history` on again at this time, and the history is complete since then. The value
    -- is null if the history is complete since the queue was created.
    history_since timestamptz,
    unique (account_id, region, name)
);
-- This index finds the queues that use a queue as their dead-letter queue.
create index queues_dead_letter_arn on queue.queues (dead_letter_arn, name) where dead_letter_arn is not null;
comment on table queue.queues is
    'Each row is a queue: CreateQueue inserts it, and SetQueueAttributes changes it. Outside the database, the ARN '
    'identifies the queue.';
comment on column queue.queues.paused is
    'While this column is true, receives return no messages.';

create table queue.new_queue_default (
    only_row boolean primary key default true check (only_row),
    shards smallint not null check (shards between 1 and 64),
    visibility_timeout_seconds int not null
);
insert into queue.new_queue_default (shards, visibility_timeout_seconds) values (4, 30);
comment on table queue.new_queue_default is
    'The only row has the defaults of queues that the SQL interface creates: `penstock migrate` stores QUEUE_SHARDS '
    'and QUEUE_DEFAULT_VISIBILITY_TIMEOUT here.';

create table queue.dropped_queue (
    queue_id int primary key,
    arn text not null,
    dropped_at timestamptz not null default clock_timestamp(),
    cleaned_at timestamptz
);
create index dropped_queue_arn on queue.dropped_queue (arn, dropped_at);
create index dropped_queue_not_cleaned on queue.dropped_queue (queue_id) where cleaned_at is null;
comment on table queue.dropped_queue is
    'Each row is a deleted queue: DeleteQueue inserts it, and a worker removes the messages step by step. CreateQueue '
    'may refuse the name for some time.';
comment on column queue.dropped_queue.cleaned_at is
    'When a worker removed the rest of the data. The metrics remain, and take the name of the queue from this row.';


-- Standard queues: the log and its leases; the side table -----------------------------------------------------------

-- PostgreSQL can shorten a table's file only behind its last row, even if that row is dead. Autovacuum therefore also
-- removes small numbers of dead rows from these tables. With a threshold of 0, only the share of dead rows counts.
-- Autovacuum cleans the indexes in each run.

-- Indexes by time start with this expression. If these indexes started with queue_id, the planner could use them for a
-- look-up by queue, shard and id while the statistics describe a small table. A look-up of this kind could read a
-- thousand rows to find one row. Indexes use the function, so its definition cannot change. The function is therefore
-- not in sql/functions.
create function queue.time_key(p_queue_id int, p_shard int) returns bigint
language sql immutable parallel safe
return (p_queue_id::bigint << 8) | (p_shard + 2);

-- A message's shard shows the table that contains the message. A shard of 0 or more means queue.log, side_shard means
-- queue.side (the side table), and fifo_shard means queue.fifo_message. PostgreSQL replaces the functions with their
-- values when it plans a statement.
create function queue.side_shard() returns int language sql immutable parallel safe return -1;
create function queue.fifo_shard() returns int language sql immutable parallel safe return -2;

create function queue.side_key(p_queue_id int) returns bigint
language sql immutable parallel safe
return queue.time_key(p_queue_id, -1);

create function queue.fifo_key(p_queue_id int) returns bigint
language sql immutable parallel safe
return queue.time_key(p_queue_id, -2);

-- Each row is a message of a standard queue: sends append it, and maintenance deletes it. A shard has one writing
-- transaction at a time. A shard's ids therefore have no gaps and become visible in order, and a cursor never passes an
-- uncommitted row.
create table queue.log (
    id bigint not null,
    sent_at timestamptz not null,
    message_id uuid not null,
    queue_id int not null,
    shard smallint not null,
    body text not null,
    attributes jsonb,               -- the message attributes in AWS's JSON format
    -- the system attributes, such as AWSTraceHeader, MessageGroupId and DeadLetterQueueSourceArn
    system jsonb,
    primary key (queue_id, shard, id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_threshold = 0,
    vacuum_index_cleanup = on);

-- Each row is a lease, which one receive inserts for the messages of a shard that it returns, from first_id to pos;
-- deletions and later receives change its other columns. The row with a shard's
-- highest pos is the shard's cursor. All messages up to this pos were received at least once. Receives insert cursor
-- rows and never change their pos.
-- If cursors had a table, each receive would also update a row in that table and leave a dead row behind. The insert
-- of the lease therefore moves the cursor.
create table queue.lease (
    pos bigint not null,
    first_id bigint not null,
    visible_at timestamptz not null,
    first_received_at timestamptz,
    watermark timestamptz not null, -- in a cursor: all leases that end at or before this time are empty
    low bigint not null,            -- in a cursor: all messages up to this position are deleted
    queue_id int not null,
    receive_count int not null,     -- how often each message of the lease was delivered
    nonce int not null default 1 + floor(random() * 2147483647)::int,
    shard smallint not null,
    ids bigint[] not null,          -- the messages that are not acknowledged yet; empty when the lease is done
    gone bigint[],                  -- the messages that left the lease before the others
    -- The array contains the time at which each message in `gone` was acknowledged. A null element means that the
    -- message moved to the side table or a dead-letter queue.
    gone_at timestamptz[],
    done_at timestamptz,            -- when the last messages were acknowledged
    outcome text,                   -- purged, expired, dead_lettered or moved; null if a consumer deleted the messages
    has_groups boolean,             -- in a cursor: messages of the last receive have groups
    redelivered_at timestamptz[],   -- the times of later receives of all messages of the lease (queue.add_redelivery)
    primary key (queue_id, shard, pos)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_threshold = 0, vacuum_index_cleanup = on);
create index lease_visible_at on queue.lease (queue.time_key(queue_id, shard), visible_at);
comment on column queue.lease.nonce is
    'A random number, never 0. A receipt handle contains it, so the handle fits no other lease at this position.';

-- Each row is a message in the side table. The side table is the table for messages that the log and its leases cannot
-- contain. A message is in the side table if it is delayed, if its visibility was changed, if it arrived in a
-- dead-letter queue, or if all shards were busy when it was sent. Receives update its row, while a receive from the log
-- inserts one row for many messages.
create table queue.side (
    id bigint not null,
    visible_at timestamptz not null,
    sent_at timestamptz not null,
    first_received_at timestamptz,
    message_id uuid not null,
    queue_id int not null,
    receive_count int not null default 0,
    -- The shard is the shard of the log that had the message first, with the same id. The value side_shard means that
    -- this table had the message first.
    shard smallint not null,
    body text not null,
    attributes jsonb,
    system jsonb,
    -- This column has the size of the message in each response format. A receive measures the size when a response has
    -- no room for the message.
    response_bytes jsonb,
    entered_at timestamptz,         -- when the message entered the queue; null if it entered at sent_at
    -- The column contains the times of later receives (queue.add_redelivery). The value is null if the message was
    -- received at most once.
    redelivered_at timestamptz[],
    primary key (queue_id, shard, id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_threshold = 0,
    vacuum_index_cleanup = on);
create index side_visible_at on queue.side (queue.side_key(queue_id), visible_at);
-- A worker finds expired messages with this index.
create index side_sent_at on queue.side (queue.side_key(queue_id), sent_at);
create sequence queue.side_id;

-- Each row is the id of a message that a purge, a selective deletion or the end of the retention removed before a
-- consumer received it. Exact counts subtract these holes above a cursor.
create table queue.hole (
    queue_id int not null,
    shard smallint not null,
    id bigint not null,
    primary key (queue_id, shard, id)
);

-- Each row is a shard with a lease that stays open for long: maintenance (queue.sweep_shard) stores how far it has
-- swept the messages behind this lease.
create table queue.sweep (
    queue_id int not null,
    shard smallint not null,
    pos bigint not null,            -- up to here, all finished messages above the cursor's low are deleted
    -- When the cursor reaches this position, sweeping starts again at low, because messages that were open before can
    -- be finished now.
    again_at bigint not null,
    primary key (queue_id, shard)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);

-- The type is a row that a receive returns. The first row is a header, which has only error, wait_seconds, and `traced`
-- as `system` if the queue records its receives (queue.receive_trace).
create type queue.received_row as (
    error text,
    wait_seconds int,
    queue_id int,
    shard smallint,                 -- 0 or more: the log; side_shard: the side table; fifo_shard: a FIFO queue
    pos bigint,                     -- the position of the lease; 0 without a lease
    id bigint,
    receive_count int,
    message_id text,
    sent_at_ms bigint,
    first_received_at_ms bigint,
    body text,
    attributes text,
    system text,
    public_id bigint,
    visible_at_ms bigint,
    nonce int                       -- the nonce of the lease; null without a lease
);

-- The type is a message of a queue, in any state, that queue.scan_messages and queue.pick_messages return.
create type queue.scanned_message as (
    shard int,
    id bigint,
    group_id text,
    receive_count int,
    message_id uuid,
    sent_at timestamptz,
    entered_at timestamptz,
    visible_at timestamptz,
    body text,
    attributes jsonb,
    system jsonb
);

-- The type is a message of a queue, in any state, that queue.search_messages and queue.read_messages return to Python.
-- The header of search_messages describes the last three columns.
create type queue.found_message as (
    public_id bigint,
    receive_count int,
    message_id text,
    sent_at_ms bigint,
    visible_at_ms bigint,
    body text,
    attributes text,
    system text,
    group_id text,
    entered_at_ms bigint,
    entered_by text,
    state text,
    total_receive_count int,
    source_arn text,
    looked_at int,
    next text,
    messages bigint
);

-- The type is a message that queue.receive, queue.receive_fifo and queue.pop return. A composite type is needed because
-- a column of `returns table` cannot have the name of a parameter (vt).
create type queue.received_message as (
    msg_id bigint,
    read_ct int,
    enqueued_at timestamptz,
    vt timestamptz,
    message jsonb,
    headers jsonb
);


-- Fair queues: standard queues whose messages have groups ------------------------------------------------------------

-- Each row is a standard queue, with the message groups that keep its consumers busy; receives judge the groups and
-- update the row. AWS calls such a group a noisy neighbor. Receives defer its messages while other messages wait (SQS
-- Developer Guide, "Amazon SQS fair queues").
create table queue.noisy_neighbors (
    queue_id int primary key,
    -- Receives defer the messages of these noisy groups. Groups with the fewest messages in flight come first.
    noisy text[],
    judged_at timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Each row is the messages of one noisy group that a receive deferred, in one lease, which ends at 'infinity' and has a
-- receive count of 0. `ids` can contain messages that no longer belong to the lease.
create table queue.deferred (
    queue_id int not null,
    group_id text not null,
    deferred_at timestamptz not null,
    shard smallint not null,
    pos bigint not null,
    ids bigint[] not null,
    primary key (queue_id, group_id, deferred_at, shard, pos)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);


-- FIFO queues: rows for messages, for groups, and for each change of the time at which a group is ready -------------

-- Each row is a message group of a FIFO queue: its first send inserts the row, which serves as the group's lock and
-- never changes. A sender keeps the lock until the commit, so a group's
-- ids become visible in order. A receiver skips a locked group.
create table queue.fifo_group (
    group_key bigint generated always as identity primary key,
    queue_id int not null,
    group_id text not null,
    unique (queue_id, group_id)
) with (fillfactor = 60, autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05,
    vacuum_index_cleanup = on);

create table queue.fifo_ready (
    version bigint generated always as identity,
    group_key bigint not null,
    visible_at timestamptz not null,    -- 'infinity' if the group is empty
    changed_at timestamptz not null default clock_timestamp(),
    first_id bigint not null,           -- at most the lowest id of the group's messages
    queue_id int not null,
    primary key (group_key, version)    -- Only the row with a group's highest version counts.
) with (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on);
create index fifo_ready_visible_at on queue.fifo_ready (queue.fifo_key(queue_id), visible_at);
comment on table queue.fifo_ready is
    'Each row is the time at which the first message of a FIFO group becomes available: each send, receive or deletion '
    'that changes the time inserts a row, and the newest row counts. A search starts at the newest entry of an index, '
    'or above the entries of the past. It therefore reads no deleted rows that an old snapshot retains.';

create unlogged table queue.fifo_search (
    queue_id int not null,
    searched_at timestamptz not null,
    visible_at timestamptz not null,        -- no group was ready before this time
    late_at timestamptz not null,           -- when a search last used late_visible_at
    -- No group was ready before this time, even if a transaction committed two seconds late.
    late_visible_at timestamptz not null,
    full_due_at timestamptz not null,       -- From this time on, a search should start at the beginning of the index.
    full_took interval not null,            -- how long the last search from the beginning took
    primary key (queue_id, searched_at)
);
comment on table queue.fifo_search is
    'Each row is the place where a search for ready FIFO groups may start: receives insert it, and the newest row of a '
    'queue counts. The table is unlogged, because after a crash the next search only reads more rows.';

-- Each row is a message of a FIFO queue: sends insert it, receives update it, and deletions remove it.
create table queue.fifo_message (
    id bigint primary key,          -- from queue.fifo_id; also the sequence number
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
    system jsonb,
    response_bytes jsonb,             -- as in queue.side
    redelivered_at timestamptz[]
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_threshold = 0, vacuum_index_cleanup = on);
-- Only a query with `group_key > 0`, which is true of every group, can use this index. Without this condition, the
-- planner might use the index for a look-up by id while the table is small, and read the whole index.
create index fifo_message_of_group on queue.fifo_message (group_key, id) where group_key > 0;
create sequence queue.fifo_id;

-- Each row is a deduplication id of a FIFO queue in the last five minutes: the send of the message inserts it.
create table queue.deduplication (
    queue_id int not null,
    scope text not null,            -- '' for the whole queue, otherwise the message group
    deduplication_id text not null,
    message_id uuid not null,
    id bigint not null,
    expires_at timestamptz not null,
    primary key (queue_id, scope, deduplication_id)
) with (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on);
create index deduplication_expires_at on queue.deduplication (expires_at);

create table queue.receive_attempt (
    queue_id int not null,
    attempt_id text not null,
    received_at timestamptz not null default clock_timestamp(),
    visible_at timestamptz not null,    -- when all messages of the attempt become visible again
    ids bigint[] not null,              -- the ids of queue.fifo_message, in the order of the response
    receive_counts int[] not null,
    primary key (queue_id, attempt_id)
);
create index receive_attempt_received_at on queue.receive_attempt (received_at);
comment on table queue.receive_attempt is
    'Each row is a receive from a FIFO queue with a ReceiveRequestAttemptId: the receive stores it, so that a repeated '
    'request gets the same response.';


-- Ids after a failover or a restore: new ids start far above the ids that the lost server may have assigned ----------

create table queue.server (
    only_row boolean primary key default true check (only_row),
    system_identifier bigint not null,      -- the identifier of the cluster, from pg_control_system()
    -- the timeline of the write-ahead log, which a promotion or a recovery changes
    timeline int not null,
    noticed_at timestamptz not null default clock_timestamp(),
    jump_after int                          -- queues up to this id have jumped; null if all queues have jumped
);
comment on table queue.server is
    'The only row is the server that assigned the database''s ids: processes compare it with their server at the '
    'start, and change it after a failover or a restore.';

create table queue.id_jump (
    queue_id int not null,
    shard smallint not null,
    first_id bigint not null,
    last_id bigint not null,
    primary key (queue_id, shard, last_id)
);
comment on table queue.id_jump is
    'Each row is a range of ids that a shard jumped over after a failover or a restore (queue.jump_ids), so no message '
    'has ever had them. Exact counts subtract them. queue.hole also has the last id of each range, so senders continue '
    'above the range.';

create table queue.late_id_jump (
    queue_id int not null,
    shard smallint not null,
    primary key (queue_id, shard)
);
comment on table queue.late_id_jump is
    'Each row is a shard that queue.jump_ids could not move yet, because a writer held it when its queue jumped.';


-- Limits -------------------------------------------------------------------------------------------------------------

create unlogged table queue.in_flight (
    queue_id int primary key,
    messages bigint not null,
    good_until timestamptz not null -- until this time, no new count is needed
);
comment on table queue.in_flight is
    'Each row is the last count of messages in flight of a queue with counts_in_flight: receives store it. The table '
    'is unlogged, because a receive without a row counts again.';


-- Dead letters -------------------------------------------------------------------------------------------------------

create table queue.move_task (
    task_id uuid primary key default gen_random_uuid(),
    queue_id int not null,          -- the source queue
    destination_arn text,           -- null if each message returns to its source queue
    maximum_per_second int check (maximum_per_second between 1 and 500),
    status text not null default 'RUNNING' check (status in ('RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED')),
    failure_reason text,
    to_move bigint not null,        -- the number of messages that could be received when the task started
    moved bigint not null default 0,
    started_at timestamptz not null default clock_timestamp(),
    -- The task has used its rate up to this time. For a task without a rate, this is the time of the last step.
    paced_at timestamptz not null default clock_timestamp(),
    ids bigint[],                   -- the public ids in ascending order; null if the task has no list of ids
    matched bigint,                 -- the number of messages that matched the filter at the start; null if unknown
    filter jsonb,                   -- the filter in the format of queue.find_messages; null if the task has no filter
    title text,                     -- the title of the group of messages that the filter selects, if the user chose one
    -- For a task with a filter, the search continues after this place. For a task with ids, this is the last handled
    -- id.
    place text,
    looked_at bigint not null default 0,    -- the number of messages that the task has examined
    skipped bigint not null default 0,  -- the number of selected messages in flight, delayed, or without a target queue
    -- After this number of messages, the task waits for a user to continue it. The value is null if the task does not
    -- wait.
    canary int,
    continued_at timestamptz,       -- when a user continued the task
    ended_at timestamptz,
    -- The first three messages of the canary in their new queue: `arn`, `number` (the public id) and `id`.
    canary_messages jsonb not null default '[]'
) with (fillfactor = 60);
create index move_task_queue on queue.move_task (queue_id, started_at);
create unique index move_task_running on queue.move_task (queue_id) where status = 'RUNNING';
comment on table queue.move_task is
    'Each row is a task that moves messages out of a dead-letter queue: StartMessageMoveTask inserts it, and the '
    'worker move updates it. The table keeps the running tasks and the last ones of each queue. A task moves all '
    'messages, the messages with the ids of a list, or the messages that match a filter.';
comment on column queue.move_task.ids is
    'A task without ids and without a filter moves all messages, as StartMessageMoveTask does.';

-- Each row is a number of messages that moved to dead-letter queues or expired in one transaction, which inserts it.
-- The next measurement adds the rows to queue.measurement. Transactions only add rows, so they never wait for each
-- other.
create table queue.outcome_count (
    queue_id int not null,          -- the queue that the messages left
    count_id bigint generated always as identity,
    dead_lettered bigint not null default 0,
    expired bigint not null default 0,
    primary key (queue_id, count_id)
);


-- History and archive ------------------------------------------------------------------------------------------------
-- Each logged table has a primary key, which logical replication needs.

-- Each row is the outcome of messages that were received together, without bodies, for metrics: the transaction that
-- ends the messages inserts it. A reader that stops at transactions below pg_snapshot_xmin misses no row that commits
-- late.
create sequence queue.history_id cache 100;
create table queue.history (
    recorded_at timestamptz not null default clock_timestamp(),
    first_received_at timestamptz,
    transaction xid8 not null default pg_current_xact_id(),
    queue_id int not null,
    receive_count int not null,
    -- The number distinguishes rows of the same microsecond. The numbers repeat after 2,147,483,647.
    history_id int not null default (nextval('queue.history_id') & 2147483647)::int,
    outcome text not null,
    group_id text,
    sent_at timestamptz[] not null,
    finished_at timestamptz[] not null,
    -- The array contains each message's group, in the order of sent_at. If the array is null, all messages have
    -- group_id, which can also be null.
    group_ids text[],
    entered_at timestamptz[],       -- in the order of sent_at; null if the times equal sent_at
    entered_by text,                -- dead_lettered or moved; null if the messages were sent
    redelivered_at timestamptz[],   -- the times of later receives of all messages of the row
    -- Readers search this index for a range of times, and within the range for the rows of a queue.
    primary key (recorded_at, queue_id, history_id)
) partition by range (recorded_at);
alter sequence queue.history_id owned by queue.history.history_id;
create table queue.history_default partition of queue.history default;
comment on column queue.history.outcome is 'deleted, purged, expired, dead_lettered or moved (by a message move task)';

create table queue.history_drop (
    name text primary key,          -- a history of queue.history_names, or schedule_run
    dropped_before timestamptz not null
);
comment on table queue.history_drop is
    'Each row is a history with the time before which rows may be gone: maintenance stores it when it drops old rows.';

-- Each row is a copy of a message that left a queue with the attribute `archive`: the deletion inserts it.
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

-- Each row is a message that a person deleted or edited (queue.delete_with_undo, queue.replace_messages), for 30
-- seconds in which the person can undo the act. The message has left its queue.
create table queue.pending_deletion (
    deletion_id uuid not null,      -- one for all messages that were deleted together
    public_id bigint not null,
    queue_id int not null,
    deleted_at timestamptz not null default clock_timestamp(),
    message jsonb not null,         -- the row of queue.side or queue.fifo_message
    copy_queue_id int,              -- the queue and the public id of an edited copy; null for a deletion
    copy_public_id bigint,
    primary key (deletion_id, public_id)
);
create index pending_deletion_deleted_at on queue.pending_deletion (deleted_at);

-- Each row connects an edited message with its copy: queue.replace_messages inserts it. Maintenance removes a row after
-- 14 days, which is the longest retention of a copy.
create table queue.edited_message (
    copy_id uuid primary key,       -- the message id of the copy
    copy_queue_id int not null,
    message_id uuid not null,       -- the message id of the original
    queue_id int not null,          -- the queue and the public id of the original
    public_id bigint not null,
    receive_count int not null,     -- of the original in its queue
    earlier_receives int,           -- of the original before it became a dead letter
    first_sent_at_ms bigint,        -- when and to which queue the original was sent first (queue.first_send)
    first_sent_to text,
    moves jsonb,                    -- the moves of the original (queue.add_move); null if it has not moved
    edited_at timestamptz not null default clock_timestamp()
);
create index edited_message_message_id on queue.edited_message (message_id);
create index edited_message_queue on queue.edited_message (queue_id, public_id);
create index edited_message_edited_at on queue.edited_message (edited_at);

-- Each row is the error that a receiver reported for a message: queue.fail_messages inserts it. Maintenance removes a
-- row after the queue's retention. A look-up by message id finds the failures in all queues.
create table queue.failure (
    queue_id int not null,
    message_id uuid not null,
    receive_count int not null,     -- the receive that failed
    failed_at timestamptz not null default clock_timestamp(),
    error text not null,            -- at most 1,024 characters
    primary key (message_id, queue_id, receive_count)
);
create index failure_failed_at on queue.failure (queue_id, failed_at);

create table queue.receive_trace (
    recorded_at timestamptz not null default clock_timestamp(),
    message_id uuid not null,
    queue_id int not null,
    receive_count int not null,
    public_id bigint not null,
    sent_at_ms bigint not null,
    caller text not null,           -- the ARN of a user or function, or the database role; at most 512 characters
    agent text not null,            -- the User-Agent, or the application_name; at most 200 characters
    primary key (message_id, queue_id, receive_count, recorded_at)
) partition by range (recorded_at);
create table queue.receive_trace_default partition of queue.receive_trace default;
comment on table queue.receive_trace is
    'Each row is a receive of a message from a queue with the attribute PenstockTrace, and its caller: the receive '
    'inserts it. The retention equals the retention of the history of messages.';


-- Long polls ---------------------------------------------------------------------------------------------------------

-- Each row is a process that waits for messages of a queue: the process inserts it, and a sender that finds a valid row
-- deletes it and sends a notification. The table is unlogged, because waiting processes also check the queue every
-- second. The key contains the time, so a check starts after the dead entries of earlier times.
create unlogged table queue.watcher (
    queue_id int not null,
    registered_at timestamptz not null default clock_timestamp(),
    watcher uuid not null,
    primary key (queue_id, registered_at, watcher)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_threshold = 1000);


-- PostgreSQL cannot prepare a transaction that notifies (two-phase commit), but a send notifies only if a process
-- waits. PREPARE TRANSACTION would therefore fail only sometimes. If the server allows prepared transactions, each
-- transaction that sends through the SQL interface inserts a row into this table (queue.guard_prepare), and PREPARE
-- TRANSACTION always fails. Deferred triggers run before PostgreSQL commits or prepares a transaction. The function
-- current_query() shows whether PostgreSQL commits or prepares. If the query's text contains other statements, the
-- trigger notifies, so PostgreSQL refuses the PREPARE. Maintenance deletes the rows. The sources are "PREPARE
-- TRANSACTION" in PostgreSQL's documentation, and PrepareTransaction in src/backend/access/transam/xact.c.
create unlogged table queue.prepare_guard (
    guarded_at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);
create function queue.refuse_prepare() returns trigger
language plpgsql as $$
begin
    if right(current_query(), 2000) !~* 'prepare' then
        return null;
    elsif current_query() ~* E'^(\\s|--[^\\n]*\\n|/\\*([^*]|\\*+[^*/])*\\*+/)*prepare\\s+transaction' then
        raise exception 'cannot prepare a transaction that has sent messages: the setting penstock.notify is not off'
            using errcode = 'feature_not_supported',
                hint = 'Begin the transaction with: set local penstock.notify = ''off''';
    end if;
    perform pg_notify('penstock', '');
    return null;
end $$;
create constraint trigger refuse_prepare after insert on queue.prepare_guard deferrable initially deferred
for each row execute function queue.refuse_prepare();


create unlogged table queue.poll_slot (
    function_name text not null,    -- the name of the Lambda function
    slot int not null,
    holder uuid not null,
    ends_at timestamptz not null,   -- in the past if the slot is free
    primary key (function_name, slot)
) with (fillfactor = 50);
comment on table queue.poll_slot is
    'Each row is a slot for a long poll of a Lambda function: a request that takes or releases the slot updates the '
    'row in place (queue.take_poll_slot). The table is unlogged: after a crash, some more requests wait at the same '
    'time.';

create unlogged table queue.receiver (
    queue_id int not null,
    caller text not null,           -- the ARN of the user, or an ARN with the key id of the request
    agent text not null,            -- the User-Agent, up to 200 characters
    address text not null,          -- the IP address of the client
    first_at timestamptz not null,
    last_at timestamptz not null,   -- when the last receive ended, including empty receives
    received bigint not null,       -- the number of messages since first_at
    primary key (queue_id, caller, agent, address)
) with (fillfactor = 70);
comment on table queue.receiver is
    'Each row is a receiver of the last day: processes of the container write it every ten seconds. A crash empties '
    'the table.';


-- Topics and their subscriptions (SNS) -------------------------------------------------------------------------------

-- Each row is an SNS topic: CreateTopic inserts it, and SetTopicAttributes changes it.
create table queue.topic (
    topic_id int generated always as identity primary key,
    account_id text not null,
    region text not null,
    name text not null,
    arn text not null generated always as ('arn:aws:sns:' || region || ':' || account_id || ':' || name) stored unique,
    fifo boolean not null generated always as (right(name, 5) = '.fifo') stored,
    created_at timestamptz not null default clock_timestamp(),
    attributes jsonb not null,      -- the attributes as the user wrote them, which the generated columns read
    tags jsonb not null default '{}',
    signature_version text not null generated always as (coalesce(attributes ->> 'SignatureVersion', '1')) stored,
    content_based_deduplication boolean not null
        generated always as (coalesce((attributes ->> 'ContentBasedDeduplication')::boolean, false)) stored,
    deduplicates_groups boolean not null
        generated always as (coalesce(attributes ->> 'FifoThroughputScope', 'Topic') = 'MessageGroup') stored,
    archive_id bigint,              -- the bus_id of the archive; null: the topic has no ArchivePolicy
    unique (account_id, region, name)
);

-- Each row is a subscription to a topic: Subscribe inserts it, and ConfirmSubscription confirms it.
create table queue.subscription (
    subscription_id uuid primary key,
    topic_id int not null references queue.topic on delete cascade,
    arn text not null unique,
    owner text not null,            -- the account that subscribed
    protocol text not null,         -- sqs, http, https, email, email-json, sms, application, lambda, firehose
    endpoint text not null,         -- for a queue, the ARN of the queue
    created_at timestamptz not null default clock_timestamp(),
    attributes jsonb not null,      -- the attributes as the user wrote them
    filter jsonb,                   -- the compiled FilterPolicy; null if every message matches
    raw boolean not null generated always as (coalesce((attributes ->> 'RawMessageDelivery')::boolean, false)) stored,
    filter_scope text not null
        generated always as (coalesce(attributes ->> 'FilterPolicyScope', 'MessageAttributes')) stored,
    dead_letter_arn text generated always as ((attributes ->> 'RedrivePolicy')::jsonb ->> 'deadLetterTargetArn') stored,
    confirmed boolean not null,
    token text,                     -- the token that confirms the subscription
    token_expires_at timestamptz,
    authenticates_unsubscribe boolean not null default false,
    -- The columns say whether policies let the topic deliver to the queue and to the dead-letter queue. The service
    -- evaluates policies when a subscription or a policy changes, not for each message.
    target_allowed boolean not null default true,
    dead_letter_queue_allowed boolean not null default true,
    principal text,
    mail_refusals int not null default 0,
    archive_id bigint,              -- the archive from which the subscription receives; null: it receives publications
    unique (topic_id, protocol, endpoint)
);
comment on column queue.subscription.target_allowed is
    'Whether the policy of the subscribed queue lets this topic send.';
comment on column queue.subscription.dead_letter_queue_allowed is
    'Whether the policy of the dead-letter queue lets this topic send.';
comment on column queue.subscription.principal is 'The ARN of the subscriber.';
comment on column queue.subscription.mail_refusals is
    'How often in a row the mail server permanently refused the address.';
create index subscription_owner on queue.subscription (owner, subscription_id);
create index subscription_token on queue.subscription (token);
create index subscription_pending on queue.subscription (token_expires_at) where not confirmed;  -- for maintenance
create index subscription_endpoint on queue.subscription (endpoint, subscription_id) where protocol = 'sqs';
create index subscription_dead_letters on queue.subscription (dead_letter_arn) where dead_letter_arn is not null;
create index subscription_receiver on queue.subscription (split_part(endpoint, ':', 5), subscription_id)
    where protocol = 'sqs';

create table queue.endpoint_password (
    account_id text not null,
    topic_arn text not null,        -- empty for bindings of routing keys
    endpoint text not null,
    password text not null,
    primary key (account_id, topic_arn, endpoint)
);
comment on table queue.endpoint_password is
    'Each row is the password of a URL of a subscription or a binding: Subscribe or the binding inserts it. Other '
    'tables have the URL with **** in place of the password.';
comment on column queue.endpoint_password.password is 'The password from the URL, still percent-encoded.';

create table queue.former_subscription (
    topic_id int not null references queue.topic on delete cascade,
    protocol text not null,
    endpoint text not null,
    subscription jsonb not null,    -- the deleted row
    token text not null unique,     -- the token that the subscription's UnsubscribeConfirmation contained
    expires_at timestamptz not null,
    primary key (topic_id, protocol, endpoint)
);
create index former_subscription_expires_at on queue.former_subscription (expires_at);
comment on table queue.former_subscription is
    'Each row is an ended subscription: Unsubscribe inserts it, and the SubscribeURL of the UnsubscribeConfirmation '
    'restores the subscription.';

-- Each row is a deduplication id of a FIFO topic in the last five minutes: Publish inserts it. The table has no foreign
-- key, because the check would cost a query for each message. The rows of a deleted topic expire within five minutes.
create table queue.topic_deduplication (
    topic_id int not null,
    scope text not null,            -- '' for the whole topic, otherwise the message group
    deduplication_id text not null,
    message_id uuid not null,
    sequence_number bigint not null,
    expires_at timestamptz not null,
    primary key (topic_id, scope, deduplication_id)
) with (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on);
create index topic_deduplication_expires_at on queue.topic_deduplication (expires_at);
create sequence queue.topic_sequence;


-- Phones, mobile apps, e-mail and Lambda functions -------------------------------------------------------------------

create table queue.outgoing (
    outgoing_id bigint generated always as identity primary key,
    created_at timestamptz not null default clock_timestamp(),
    account_id text not null,
    region text not null,
    -- The protocol of the subscription is sms, application, email, email-json, lambda or firehose.
    protocol text not null,
    kind text not null,             -- the message type of SNS, or OneTimePassword
    destination text not null,      -- the endpoint: a phone number, an address or an ARN
    message_id uuid not null,
    topic_arn text,
    subscription_arn text,
    subject text,
    body text not null,
    attributes jsonb,
    state text not null default 'kept' check (state in ('kept', 'waiting', 'sent', 'failed')),
    error text,
    dead_letter_arn text,
    envelope text,
    unsubscribe_url text
);
comment on table queue.outgoing is
    'Each row is a text message, a mobile push, a mail or an invocation of a Lambda function: a publication inserts '
    'it, and users can read it for some days.';
comment on column queue.outgoing.state is 'kept: the message has no delivery; waiting: the message has a delivery.';
comment on column queue.outgoing.dead_letter_arn is 'The dead-letter queue of the subscription.';
comment on column queue.outgoing.envelope is
    'The message for the dead-letter queue after a failure; null: the subscription has no dead-letter queue.';
comment on column queue.outgoing.unsubscribe_url is 'The link in a mail that ends the subscription.';
create index outgoing_account on queue.outgoing (account_id, outgoing_id);
create index outgoing_kept on queue.outgoing (protocol, account_id, created_at) where state = 'kept';

create table queue.platform_application (
    application_id int generated always as identity primary key,
    account_id text not null,
    region text not null,
    platform text not null,
    name text not null,
    arn text not null generated always as (
        'arn:aws:sns:' || region || ':' || account_id || ':app/' || platform || '/' || name) stored unique,
    created_at timestamptz not null default clock_timestamp(),
    credentials text not null,      -- the SHA-256 of the credentials. The database does not store the credentials.
    attributes jsonb not null,
    unique (account_id, region, arn)
);
comment on table queue.platform_application is
    'Each row is a mobile app to which SNS publishes: CreatePlatformApplication inserts it.';

create table queue.platform_endpoint (
    endpoint_id uuid primary key,
    application_id int not null,    -- the id of a platform_application or of a dropped_platform_application
    arn text not null unique,
    account_id text not null,
    created_at timestamptz not null default clock_timestamp(),
    token text not null,
    attributes jsonb not null
);
comment on table queue.platform_endpoint is
    'Each row is a mobile app on one device: CreatePlatformEndpoint inserts it. Publish accepts its ARN as TargetArn.';
create unique index platform_endpoint_token on queue.platform_endpoint (application_id, md5(token));
create index platform_endpoint_application on queue.platform_endpoint (application_id, endpoint_id);

create table queue.platform_endpoint_count (
    account_id text not null,
    part int not null,
    endpoints bigint not null,
    primary key (account_id, part)
);
comment on table queue.platform_endpoint_count is
    'Each row is a part of an account''s number of endpoints, which is the sum of its parts: each creation or deletion '
    'of an endpoint updates a part.';
comment on column queue.platform_endpoint_count.part is
    'An account has several parts, so concurrent sessions seldom update the same row.';

create table queue.dropped_platform_application (
    application_id int primary key,
    account_id text not null,
    dropped_at timestamptz not null default clock_timestamp()
);
comment on table queue.dropped_platform_application is
    'Each row is a deleted application (DeletePlatformApplication) whose endpoints maintenance has not removed yet.';

create table queue.sms_setting (
    account_id text not null,
    region text not null,
    attributes jsonb not null,
    primary key (account_id, region)
);
comment on table queue.sms_setting is 'Each row is the SMS attributes of an account: SetSMSAttributes stores it.';

create table queue.opted_out_number (
    account_id text not null,
    region text not null,
    phone_number text not null,
    opted_out boolean not null,
    opted_in_at timestamptz,        -- when the account last opted the number in
    primary key (account_id, region, phone_number)
);
comment on table queue.opted_out_number is
    'Each row is a phone number that is opted out of an account''s text messages, or was before: the opt-out inserts '
    'it, and OptInPhoneNumber updates it.';

create table queue.sandbox_number (
    account_id text not null,
    region text not null,
    phone_number text not null,
    verified boolean not null default false,
    one_time_password text not null,
    wrong_passwords int not null default 0,
    sent_at timestamptz not null default clock_timestamp(),
    primary key (account_id, region, phone_number)
);
comment on table queue.sandbox_number is
    'Each row is a phone number of an account''s SMS sandbox: CreateSMSSandboxPhoneNumber inserts it.';


-- Mail ---------------------------------------------------------------------------------------------------------------

create table queue.confirmation_mail (
    confirmation_id bigint generated always as identity primary key,
    account_id text not null,
    address text not null,          -- in lower case
    due_at timestamptz not null
);
comment on table queue.confirmation_mail is
    'Each row is the time of a mail that asks for a confirmation, in the last hour or in the future: '
    'queue.hand_over_outgoing inserts it.';
create index confirmation_mail_account on queue.confirmation_mail (account_id, due_at);
create index confirmation_mail_address on queue.confirmation_mail (address, due_at);

create table queue.text_message_day (
    account_id text not null,
    day date not null,              -- in UTC
    messages int not null,
    primary key (account_id, day)
);
comment on table queue.text_message_day is
    'Each row is the number of an account''s text messages that went to the gateway on a day (QUOTA_TEXT_MESSAGES): '
    'queue.hand_over_outgoing counts them.';


-- Routed events: patterns of routing keys, bound to queues, event buses and URLs -------------------------------------

-- Each row is a pattern of routing keys with the queue, the bus or the URL that receives the matching events:
-- queue.bind inserts it.
create table queue.binding (
    binding_id bigint generated always as identity primary key,
    account_id text not null,
    region text not null,
    pattern text not null,
    segments text[] not null generated always as (string_to_array(pattern, '.')) stored,
    literal boolean not null generated always as (position('*' in pattern) + position('#' in pattern) = 0) stored,
    protocol text not null,         -- queue, bus, http or https
    endpoint text not null,         -- the ARN of a queue or an event bus, or a URL
    envelope boolean not null default false,
    filter jsonb,                   -- the compiled filter policy for the message; null if every message matches
    filter_policy text,             -- the filter policy as the user wrote it
    created_at timestamptz not null default clock_timestamp(),
    unique (account_id, region, pattern, protocol, endpoint)
);
create index binding_wildcard on queue.binding (account_id, region) where not literal;
create index binding_endpoint on queue.binding (endpoint);


-- Deliveries: each publish has a notice, each endpoint has a delivery, and the worker `deliver` sends them ------------
create table queue.notice (
    notice_id bigint generated always as identity primary key,
    created_at timestamptz not null default clock_timestamp(),
    -- Notification, SubscriptionConfirmation, UnsubscribeConfirmation, event, gateway, …
    kind text not null,
    -- the ARN of the SNS topic; for an event, the text that replaces the ARN in envelopes
    topic_arn text,
    routing_key text,               -- the routing key of an event
    message_id uuid not null,
    raw text not null,              -- the message; for a confirmation, the whole text
    head text,                      -- An envelope consists of head, the subscription's ARN and tail.
    tail text,
    headers jsonb,                  -- the headers of an event from its publisher
    schedule jsonb,                 -- the schedule that invokes a function: {"schedule", "at", "earlier_attempts"}
    alert_account text,             -- the account with the URL of an alert; '' for the installation's URL
    attributes jsonb,               -- the message attributes in SQS's JSON format, for raw dead letters
    trace text                      -- explained in docs/guides/tracing.md
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index notice_message on queue.notice (message_id);
comment on table queue.notice is
    'Each row is the content of the deliveries that carry the same text: the transaction that publishes inserts it, '
    'and the worker deliver deletes it together with its last delivery. The contents are SNS notifications and '
    'confirmations, routed events, messages for the gateway and mail servers, and invocations of functions.';
comment on column queue.notice.trace is 'The X-Ray trace header of the publishing request, if the request was traced.';

create table queue.outgoing_delivery (
    delivery_id bigint generated always as identity primary key,
    notice_id bigint not null,
    created_at timestamptz not null default clock_timestamp(),
    account_id text not null,       -- the account that can list and retry the delivery
    subscription_arn text,          -- null if the delivery belongs to an event
    binding_id bigint,
    endpoint text not null,
    raw boolean not null,           -- whether the delivery sends the message without an envelope
    subscription_policy text,       -- the DeliveryPolicy of the subscription at the time of the publish
    topic_policy text,              -- the DeliveryPolicy of the topic at the time of the publish
    -- for a schedule, {"MaximumRetryAttempts", "Until"}: Until is the time of the last attempt, in seconds since 1970
    retry_policy jsonb,
    dead_letter_arn text,
    state text not null default 'pending' check (state in ('pending', 'exhausted')),
    attempts int not null default 0, -- the number of attempts with a known outcome
    -- The next attempt is due at this time. For a leased delivery, the lease ends at this time.
    due_at timestamptz not null default clock_timestamp(),
    lease uuid,                     -- the claim; only the process with this claim can write the outcome
    waiting boolean not null default false, -- true if the endpoint is paused or throttled, or the host is busy
    -- Deliveries with the same key delay each other. The key is the endpoint, and for a throttled subscription also the
    -- subscription's ARN.
    endpoint_key text not null generated always as (endpoint || case
        when position('maxReceivesPerSecond' in coalesce(subscription_policy, '') || coalesce(topic_policy, '')) > 0
        then ' ' || coalesce(subscription_arn, '') else '' end) stored,
    last_status int,                -- null if no response arrived
    last_error text,
    waits_for text,
    outgoing_id bigint,
    given_up_at timestamptz,        -- when the delivery was first given up; null unless a user retried it after that
    carrier text not null generated always as (case
        when endpoint like 'arn:aws:lambda:%' then 'lambda'
        when endpoint like 'smtp:%' then 'mail'
        when endpoint like 'sns:%' then 'gateway' else 'http' end) stored
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index outgoing_delivery_due on queue.outgoing_delivery (carrier, due_at, delivery_id)
    where state = 'pending' and not waiting;
create index outgoing_delivery_account_due on queue.outgoing_delivery (account_id, carrier, due_at, delivery_id)
    where state = 'pending' and not waiting;
create index outgoing_delivery_waits_for on queue.outgoing_delivery (waits_for, due_at, delivery_id)
    where state = 'pending' and waiting;
create index outgoing_delivery_exhausted on queue.outgoing_delivery (account_id, delivery_id) where state = 'exhausted';
create index outgoing_delivery_retried on queue.outgoing_delivery (account_id)
    where state = 'pending' and given_up_at is not null;
create index outgoing_delivery_notice on queue.outgoing_delivery (notice_id);
comment on table queue.outgoing_delivery is
    'Each row is a delivery that is under way or exhausted, of a notice to an endpoint (a URL, a Lambda function, or a '
    'name for the gateway or the mail server): the transaction that publishes inserts it, and the worker deliver '
    'updates it, or deletes it after a success.';
comment on column queue.outgoing_delivery.waits_for is
    'The row of queue.delivery_endpoint that a waiting delivery waits for.';
comment on column queue.outgoing_delivery.outgoing_id is 'The outgoing message that the delivery carries.';
comment on column queue.outgoing_delivery.carrier is
    'Only processes with this carrier claim the delivery: lambda (Lambda functions), mail (the mail server), gateway '
    '(text messages and pushes) or http (all other endpoints).';

create table queue.delivery_endpoint (
    endpoint_key text primary key,
    account_id text not null,
    host text not null,
    next_at timestamptz not null,   -- when the worker next checks the waiting deliveries
    failures int not null default 0, -- the number of failed attempts in a row
    failing_since timestamptz,      -- when the first failure in a row happened; null without failures
    pauses int not null default 0,  -- the number of pauses in a row, without a response in between
    -- null if the worker has not paused the endpoint; after this time, one delivery is a probe
    paused_until timestamptz,
    paused_at timestamptz,          -- when the first pause in a row began; null without a pause
    probe bigint,                   -- the delivery that is the probe
    paced_at timestamptz not null default '-infinity', -- A throttled endpoint has used its rate up to this time.
    stopped boolean not null default false,
    reported boolean not null default false, -- whether the log has a warning that this endpoint fails or is paused
    carrier text not null generated always as (case     -- as in queue.outgoing_delivery
        when split_part(host, ' ', 2) like 'arn:aws:lambda:%' then 'lambda'
        when split_part(host, ' ', 2) like 'smtp:%' then 'mail'
        when split_part(host, ' ', 2) like 'sns:%' then 'gateway' else 'http' end) stored
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);
create index delivery_endpoint_next_at on queue.delivery_endpoint (next_at);
create index delivery_endpoint_account_next_at on queue.delivery_endpoint (account_id, next_at);
create index delivery_endpoint_paused on queue.delivery_endpoint (host) where paused_until is not null;
comment on table queue.delivery_endpoint is
    'Each row is an account''s host with too many requests under way, or an endpoint that fails, is throttled or was '
    'paused by a user: the worker deliver and the user write it.';
comment on column queue.delivery_endpoint.host is
    'Account, host and port (queue.delivery_host). The row of the host itself has this text as its endpoint_key.';
comment on column queue.delivery_endpoint.stopped is
    'A user paused the endpoint. It stays paused until a user resumes it.';

create table queue.delivery_excess (
    account_id text not null,
    -- The value is the protocol of outgoing messages, or '' for deliveries to URLs and to Lambda functions of
    -- schedules.
    protocol text not null,
    waiting bigint not null,
    counted_at timestamptz not null,
    primary key (account_id, protocol)
);
comment on table queue.delivery_excess is
    'Each row is an account with more waiting deliveries of a protocol than QUOTA_DELIVERIES, by the last count of a '
    'worker. The account cannot publish by this protocol until fewer deliveries wait.';

create sequence queue.outgoing_delivery_history_id cache 100;
create table queue.outgoing_delivery_history (
    recorded_at timestamptz not null default clock_timestamp(),
    history_id bigint not null default nextval('queue.outgoing_delivery_history_id'),
    transaction xid8 not null default pg_current_xact_id(),
    outcome text not null,          -- delivered, exhausted or dead_lettered
    published_at timestamptz[] not null,
    attempts int[] not null,
    primary key (recorded_at, history_id)
) partition by range (recorded_at);
alter sequence queue.outgoing_delivery_history_id owned by queue.outgoing_delivery_history.history_id;
create table queue.outgoing_delivery_history_default partition of queue.outgoing_delivery_history default;
comment on table queue.outgoing_delivery_history is
    'Each row is the deliveries that ended with one outcome at recorded_at, without bodies, for metrics: the worker '
    'deliver writes their outcomes together.';


create sequence queue.outgoing_delivery_attempt_id;
create table queue.outgoing_delivery_attempt (
    recorded_at timestamptz not null default clock_timestamp(),    -- when the worker wrote the outcome
    attempt_id bigint not null default nextval('queue.outgoing_delivery_attempt_id'),
    account_id text not null,
    delivery_id bigint not null,
    message_id uuid not null,
    -- The value is null if the delivery belongs to an event.
    subscription_arn text,
    endpoint text not null,
    attempt int not null,           -- from 1
    outcome text not null,          -- delivered, retried or given_up
    status int,                     -- null if no response arrived
    error text,                     -- null if the message was delivered
    duration_ms int,
    sent_bytes int,                 -- the size of the request, with its head
    response text,                    -- the start of the response, if WEBHOOK_LOG_RESPONSES is on
    primary key (account_id, attempt_id, recorded_at)
) partition by range (recorded_at);
alter sequence queue.outgoing_delivery_attempt_id owned by queue.outgoing_delivery_attempt.attempt_id;
create table queue.outgoing_delivery_attempt_default partition of queue.outgoing_delivery_attempt default;
comment on table queue.outgoing_delivery_attempt is
    'Each row is the outcome of an attempt to deliver: the worker deliver inserts it. The retention equals the '
    'retention of the history of messages.';


-- Event source mappings: queues that trigger Lambda functions --------------------------------------------------------

create table queue.event_source_mapping (
    mapping_id uuid primary key default gen_random_uuid(),
    account_id text not null,
    region text not null,
    queue_arn text not null,
    function_arn text not null,     -- the ARN of the Lambda function, or the URL to which the service posts batches
    -- The mapping uses the permissions of this user, who last edited it. The value is null for the root user of the
    -- account.
    user_name text,
    -- the members of the API as the caller gave them, such as BatchSize and FilterCriteria
    options jsonb not null,
    -- A message must match one of these compiled filter policies. The value is null if every message matches.
    filters jsonb,
    enabled boolean not null,
    reason text not null default 'USER_INITIATED',          -- why the mapping is in its state
    last_result text not null default 'No records processed',
    tags jsonb not null default '{}',
    updated_at timestamptz not null default clock_timestamp(),
    -- Each change that concerns the poller increases this number.
    revision bigint not null default 1,
    poller_id uuid,                 -- the poller of the mapping, while that process is alive
    invocations bigint not null default 0,
    failed_invocations bigint not null default 0,
    failing_since timestamptz,
    unique (queue_arn, function_arn)
);
create index event_source_mapping_account on queue.event_source_mapping (account_id, region, mapping_id);
create index event_source_mapping_poller on queue.event_source_mapping (poller_id) where enabled;
create index event_source_mapping_troubled on queue.event_source_mapping (account_id, region)
    where failing_since is not null or (not enabled and reason <> 'USER_INITIATED');
comment on table queue.event_source_mapping is
    'Each row maps a queue to the Lambda function that receives its messages: CreateEventSourceMapping inserts it, and '
    'its poller stores the results.';
comment on column queue.event_source_mapping.failing_since is
    'Time of the first failure since the last successful invocation; null: the last invocation succeeded.';

create unlogged table queue.poller (
    poller_id uuid primary key,
    alive_until timestamptz not null
);
comment on table queue.poller is
    'Each row is a process that polls for event source mappings: the process renews the row. A crash empties the '
    'table, and then the processes insert their rows again.';


-- Schedules: messages and their times; the worker `fire` sends them ---------------------------------------------------

create sequence queue.schedule_id;

-- Each row is a schedule: CreateSchedule or PUT /v1/schedules inserts it, and the worker fire stores its firings.
create table queue.schedule (
    schedule_id bigint primary key default nextval('queue.schedule_id'),
    account_id text not null,
    region text not null,
    group_name text not null default 'default',
    name text not null,
    -- This API sets the rules for missed occurrences, retries, pauses and retention.
    api text not null check (api in ('rest', 'aws')),
    expression_kind text not null
        check (expression_kind in ('cron', 'every', 'when', 'fire_at', 'aws_cron', 'rate', 'at')),
    expression text not null,       -- the expression as the user wrote it
    canonical text not null,        -- the normalized expression, for computing
    timezone text not null,         -- the IANA name
    anchor_at timestamptz,          -- when the intervals of a rate start
    start_at timestamptz,           -- No occurrence is before this time.
    end_at timestamptz,             -- No occurrence is after this time.
    jitter_seconds int not null default 0,
    window_minutes int,             -- the flexible time window; null if it is off
    catchup boolean not null default false,
    catchup_limit int not null default 100,
    failure_threshold int not null default 3,
    overlap text not null default 'allow' check (overlap in ('allow', 'skip')),
    target jsonb not null,          -- {"queue" | "topic", "message", "headers"} or Target of EventBridge Scheduler
    status text not null default 'active' check (status in ('active', 'paused')),
    next_fire_at timestamptz,       -- the next occurrence; null if no occurrence remains
    -- The schedule fires at this time. Jitter or a window shifts this time, and a failure delays this time.
    due_at timestamptz,
    last_fired_at timestamptz,
    last_error text,
    consecutive_failures int not null default 0,
    fire_count bigint not null default 0,
    description text,
    kms_key_arn text,
    action_after_completion text,   -- NONE, DELETE
    client_token text,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    unique (account_id, region, group_name, name)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index schedule_due on queue.schedule (due_at, schedule_id) where status = 'active';
create index schedule_account_due on queue.schedule (account_id, due_at) where status = 'active';
create index schedule_account_failing on queue.schedule (account_id, region, group_name, name)
    where consecutive_failures > 0;

-- Each row is a schedule group: CreateScheduleGroup inserts it. The group `default` exists even without a row.
create table queue.schedule_group (
    account_id text not null,
    region text not null,
    name text not null,
    state text not null default 'ACTIVE',
    tags jsonb not null default '{}',
    client_token text,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    primary key (account_id, region, name)
);

-- Each row is the outcome of an occurrence of a schedule: the worker fire inserts it. The unique index
-- schedule_run_once lets an occurrence fire only once.
create table queue.schedule_run (
    run_id bigint generated always as identity primary key,
    schedule_id bigint not null,
    scheduled_for timestamptz not null,
    out_of_band boolean not null default false, -- true if a user chose "run now"
    attempts int not null default 1,
    fired_at timestamptz,           -- null if the occurrence has not fired, or never will
    message_ids jsonb not null default '[]', -- [{"queue_name", "msg_id"}]; the ids are null for an SNS topic
    error text,                     -- the error of the last attempt, or why the worker skipped the occurrence
    recorded_at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create unique index schedule_run_once on queue.schedule_run (schedule_id, scheduled_for) where not out_of_band;
create index schedule_run_schedule on queue.schedule_run (schedule_id, run_id);
create index schedule_run_recorded_at on queue.schedule_run (recorded_at);

-- Each row is a failed invocation of EventBridge Scheduler: the worker fire inserts it, and retries it even after the
-- schedule is over.
create table queue.schedule_retry (
    retry_id bigint generated always as identity primary key,
    schedule_id bigint not null,
    account_id text not null,
    region text not null,
    group_name text not null,
    name text not null,
    target jsonb not null,
    scheduled_for timestamptz not null,
    retries int not null default 0, -- the number of retries so far, without the first attempt
    expires_at timestamptz not null, -- when MaximumEventAgeInSeconds is over
    due_at timestamptz not null,
    error_code text not null,       -- the code of the error of the last attempt
    error text not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index schedule_retry_due on queue.schedule_retry (due_at, retry_id);
create index schedule_retry_account_due on queue.schedule_retry (account_id, due_at, retry_id);
create index schedule_retry_schedule on queue.schedule_retry (schedule_id);

-- Each row is a deletion with a ClientToken: DeleteSchedule or DeleteScheduleGroup inserts it, so that a repeated
-- request succeeds for a day.
create table queue.schedule_deletion (
    account_id text not null,
    region text not null,
    group_name text not null,
    name text not null,             -- '' for the group itself
    client_token text not null,
    deleted_at timestamptz not null default clock_timestamp(),
    primary key (account_id, region, group_name, name, client_token)
);
create index schedule_deletion_deleted_at on queue.schedule_deletion (deleted_at);

create unlogged table queue.recent_firing (
    account_id text not null,
    fired_at timestamptz not null default clock_timestamp(),
    number int not null
);
create index recent_firing_account on queue.recent_firing (account_id, fired_at);
comment on table queue.recent_firing is
    'Each row is the number of an account''s firings in a batch of the last seconds, for QUOTA_FIRINGS_PER_SECOND: the '
    'worker fire inserts it. No transaction updates rows, so no transaction waits for another. The table is unlogged: '
    'after a crash, an account may fire more often for some seconds.';


-- Access and keys ----------------------------------------------------------------------------------------------------

create table queue.account_user (
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    name text not null check (name ~ '^[A-Za-z0-9_+=,.@-]{1,64}$'),     -- as in IAM
    policies text[] not null,       -- names of built-in policies, or policies in IAM's JSON
    created_at timestamptz not null default clock_timestamp(),
    primary key (account_id, name)
);
comment on table queue.account_user is
    'Each row is a user of an account with the user''s policies: `penstock users`, the REST API or `penstock apply` '
    'stores it. A key has the permissions of its user. A key without a user belongs to the account and may do '
    'everything.';

create table queue.access_key (
    access_key_id text primary key,
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    -- AES-256-GCM encrypts the secret under QUEUE_ENCRYPTION_KEY. A hash would not suffice, because signatures need the
    -- secret.
    sealed_secret bytea not null,
    description text not null default '',
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    user_name text,
    expires_at timestamptz,
    last_used_at timestamptz,
    foreign key (account_id, user_name) references queue.account_user
);
comment on table queue.access_key is
    'Each row is a key that signs requests of AWS''s APIs (Signature Version 4), with its encrypted secret: `penstock '
    'keys create` or the REST API inserts it. A revoked key stays, so that its id is never used again and users can '
    'read its history.';
comment on column queue.access_key.user_name is 'The user of the key; null: the key belongs to the account.';
comment on column queue.access_key.last_used_at is 'The last use of the key, exact to within a minute.';

create table queue.bearer_key (
    key_id text primary key,
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    -- This is the SHA-256 of the secret, which is 30 random bytes in base64url.
    secret_hash bytea not null,
    description text not null default '',
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    user_name text,
    expires_at timestamptz,
    last_used_at timestamptz,
    foreign key (account_id, user_name) references queue.account_user
);
comment on table queue.bearer_key is
    'Each row is a key of the REST API, with the hash of its secret: `penstock keys create --bearer` or the REST API '
    'inserts it.';

-- Each row is a key that signs the messages of SNS: the process that first needs a new key inserts it.
create table queue.signing_key (
    key_id text primary key check (key_id ~ '^[0-9a-f]{32}$'),
    created_at timestamptz not null default clock_timestamp(),
    -- A newer key replaced this key at this time. The service publishes the certificate for another 30 days.
    retired_at timestamptz,
    sealed boolean not null,        -- whether QUEUE_ENCRYPTION_KEY encrypts the private key
    private_key bytea not null,
    certificate text not null
);

create table queue.secret (
    name text primary key,
    value bytea not null,
    created_at timestamptz not null default now()
);
comment on table queue.secret is
    'Each row is a key that all processes and functions share, such as the key that encrypts receipt handles: the '
    'first process that needs it inserts it.';


create table queue.role_account (
    role_name name primary key,     -- the name of a login role, or of a group from which login roles inherit
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    region text not null check (region ~ '^[a-z0-9-]{1,32}$'),
    created_at timestamptz not null default clock_timestamp()
);
comment on table queue.role_account is
    'Each row is the account and the region of a database role in the SQL interface: queue.set_role_account stores it.';


-- The console: its sessions, and the audit of actions -----------------------------------------------------------------

create table queue.console_session (
    session_id text primary key,            -- the SHA-256 of the cookie, in hexadecimal
    kind text not null check (kind in ('access', 'bearer')),
    key_id text not null,                   -- a key of that kind; the session ends with the key
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null
);
create index console_session_expires_at on queue.console_session (expires_at);
create index console_session_key_id on queue.console_session (key_id);
comment on table queue.console_session is
    'Each row is a signed-in browser of the console, with the key of the sign-in, which inserts the row.';

create table queue.audit (
    audit_id bigint primary key generated always as identity,
    happened_at timestamptz not null default clock_timestamp(),
    account_id text not null,
    -- aws, rest, cli, console or mcp; database for a command or the SQL interface
    interface text not null,
    -- The actor is the ARN of the user, the ARN of the root user of the account, or a database role. The value is null
    -- if the service required no key.
    actor text,
    key_id text,                            -- null if the service required no key, or the request had no key id
    address text not null,                  -- the address of the client; empty if it is unknown
    action text not null,                   -- the name of the action in policies, such as sqs:PurgeQueue
    -- the ARN of the resource, the id of a key or a delivery, a URL or a routing key
    target text not null,
    details jsonb not null default '{}',    -- values of the request: ids, a filter, new attributes
    changes jsonb not null default '{}',    -- each changed value of the resource: {"name": [old, new]}
    affected bigint,                        -- the number of changed items; null if it is unknown
    error text,                             -- the error of a refused request or a failed sign-in; null after a success
    repeated int not null default 1,        -- the number of equal refusals or readings in a minute
    refusal_key text unique                 -- a digest of minute, caller, and error; for a reading, of the target
);
create index audit_account_id on queue.audit (account_id, audit_id);
create index audit_happened_at on queue.audit (happened_at);
comment on table queue.audit is
    'Each row is an action, a refusal or a reading of messages: the transaction of an action also inserts its row. '
    'Equal refusals and readings within a minute share a row. An account keeps its last 100,000 rows, for 400 days.';


-- Metrics ------------------------------------------------------------------------------------------------------------

create unlogged table queue.activity (
    queue_id int not null,
    happened_at timestamptz not null default clock_timestamp(),
    sent int not null default 0,
    received int not null default 0,
    redelivered int not null default 0,
    deleted int not null default 0,
    dead_lettered int not null default 0,
    expired int not null default 0
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
comment on table queue.activity is
    'Each row is the effect of a call on a queue: the call inserts it, and the worker measure adds it to queue.minute. '
    'A crash of the server empties the table, so the counts of the last seconds are lost.';

create unlogged table queue.unjudged_event (
    routing_key text not null
);
comment on table queue.unjudged_event is
    'Each row is an event of the SQL interface that passed filters because it was too complicated: the publisher '
    'inserts it, so no publisher waits for another, and the worker measure counts and deletes it. A crash of the '
    'server empties the table.';

create table queue.minute (
    queue_id int not null,
    starts_at timestamptz not null,         -- the start of a full minute in UTC
    -- This is the number of messages that entered the queue (sent, dead-lettered or moved).
    sent bigint not null default 0,
    received bigint not null default 0,     -- deliveries, including redeliveries
    redelivered bigint not null default 0,  -- deliveries after a message's first delivery
    deleted bigint not null default 0,
    dead_lettered bigint not null default 0, -- messages that moved to the dead-letter queue
    expired bigint not null default 0,      -- messages whose retention ended
    visible bigint,                         -- by the last measurement in this minute; null if none took place
    in_flight bigint,
    delayed bigint,
    -- The oldest message entered at this time. The value is null if the queue was empty or was not measured.
    oldest_at timestamptz,
    last_received_at timestamptz,           -- the last receive that returned a message, in this minute or before
    primary key (queue_id, starts_at)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index minute_starts_at on queue.minute (starts_at);
comment on table queue.minute is
    'Each row is the activity of a queue in a minute, and its contents at the end of the minute: the worker measure '
    'writes it. Rows stay for 25 hours. A minute without a row had no activity, and the contents did not change.';

create table queue.account_minute (
    account_id text not null,
    region text not null,
    starts_at timestamptz not null,         -- the start of a full minute in UTC
    entered bigint not null default 0,      -- messages that entered a queue of the account
    finished bigint not null default 0,     -- messages that were deleted or moved to a dead-letter queue
    primary key (account_id, region, starts_at)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index account_minute_starts_at on queue.account_minute (starts_at);
comment on table queue.account_minute is
    'Each row is the sum of queue.minute over all queues of an account: the worker measure writes it. A chart of the '
    'account therefore reads 60 rows instead of 60 rows for each queue. Rows stay for 25 hours.';

create table queue.metrics_window (
    window_seconds int not null check (window_seconds in (60, 3600, 86400)), -- 86400: a calendar day, 23 to 25 hours
    queue_id int not null,
    group_id text not null default '',  -- '' means the whole queue
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    arrivals bigint not null,
    deliveries bigint not null,
    redeliveries bigint not null,
    deletions bigint not null,
    dead_lettered bigint not null,
    purged bigint not null,
    expired bigint not null,
    moved bigint not null,
    depth bigint not null,          -- the messages at ends_at that were sent and are not finished
    waiting bigint not null,        -- the messages of `depth` that were not received before ends_at
    received bigint not null,       -- the messages of `depth` that are in flight or visible again
    oldest_age_us bigint,           -- the age at ends_at; null if the queue is empty
    visible bigint,                 -- The job measures the next three columns in the window of its run.
    in_flight bigint,
    delayed bigint,
    groups int,                     -- the number of different groups with arrivals
    top_group_share double precision,
    gini double precision,
    computed_at timestamptz not null default clock_timestamp(),
    zone text not null default '',
    primary key (window_seconds, queue_id, group_id, starts_at, zone)
);
create index metrics_window_starts_at on queue.metrics_window (window_seconds, starts_at);
comment on table queue.metrics_window is
    'Each row is the activity of a queue, or of one of its groups, in a window of time: the metrics job writes it '
    '(docs/reference/metrics.md). Windows are [starts_at, ends_at), and durations are in microseconds. A day belongs '
    'to a time zone, and the table has days of several zones. Windows of a minute and of an hour have no zone ('''').';

create table queue.metrics_latency (
    window_seconds int not null check (window_seconds in (60, 3600, 86400)),
    queue_id int not null,          -- 0 for the measures fire and delivery
    group_id text not null default '',
    measure text not null check (measure in ('wait', 'processing', 'lag', 'fire', 'delivery')),
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    count bigint not null,
    sum_us numeric not null,
    p50_us bigint not null,         -- Percentiles are exact (nearest rank).
    p90_us bigint not null,
    p95_us bigint not null,
    p99_us bigint not null,
    max_us bigint not null,
    sketch_buckets int[] not null,  -- DDSketch: bucket i holds (g^(i-1), g^i] microseconds, g = 1.02/0.98
    sketch_counts bigint[] not null,
    negative_count bigint not null default 0, -- durations below 0, which count as 0; they occur because clocks differ
    computed_at timestamptz not null default clock_timestamp(),
    zone text not null default '',
    primary key (window_seconds, queue_id, group_id, measure, starts_at, zone)
);
create index metrics_latency_starts_at on queue.metrics_latency (window_seconds, starts_at);
comment on table queue.metrics_latency is
    'Each row is the latencies of one measure in a window: the metrics job writes it. The percentiles are exact within '
    'a window. A reader merges windows by their sketches.';

create table queue.metrics_forecast (
    queue_id int primary key,
    computed_at timestamptz not null default clock_timestamp(),
    arrival_rate double precision not null,
    drain_rate double precision not null,
    backlog bigint not null,
    drain_seconds double precision, -- at the current net rate; null if the backlog does not shrink
    forecast_at timestamptz[],      -- The next four columns are null if no method beats an unchanged depth.
    forecast double precision[],
    forecast_low double precision[],
    forecast_high double precision[],
    method text,                    -- a method in docs/reference/metrics.md
    reason text check (reason in ('too_little_past', 'no_method_beats_unchanged',
        'intervals_do_not_hold')),  -- why the forecast is missing
    interval_level double precision,    -- the intended share of intervals that contain the depth, such as 0.8
    interval_coverage double precision, -- the actual share in the backtest
    mean_error double precision,    -- the mean absolute error in the backtest, in messages
    unchanged_error double precision,   -- the mean absolute error of an unchanged depth
    backtests int,                  -- the number of past forecasts that were compared
    -- `retention_seconds` is the time until the retention of unread messages ends. `fastest_rate` and `mean_rate` are
    -- present if fewer messages drain than arrive even in the queue's best hour.
    warnings jsonb not null default '{}'
);
comment on table queue.metrics_forecast is
    'Each row is the forecast of a queue: how long it takes to drain, and its backlog over the next hour. The metrics '
    'job writes it.';
comment on column queue.metrics_forecast.arrival_rate is
    'Messages per second over the last 15 complete minutes, or over the life of a younger queue.';

create table queue.metrics_run (
    run_id bigint generated always as identity primary key,
    mode text not null check (mode in ('once', 'continuous')),
    started_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    from_at timestamptz,
    to_at timestamptz,
    recorded_below xid8,            -- The next run handles rows of later transactions.
    rows_read bigint not null default 0,
    rows_written bigint not null default 0,
    error text,
    zone text,                      -- the zone whose days the run computed
    -- The run handled the rows that recorded_to sees and recorded_from does not see. Null means that the run handled a
    -- requested span of time, or everything.
    recorded_from pg_snapshot,
    recorded_to pg_snapshot
);
comment on table queue.metrics_run is
    'Each row is a run of the metrics job, with its span and progress: the run writes it.';
comment on column queue.metrics_run.rows_written is
    'Numbers of added, changed and removed rows. A computed row that equals the stored one does not count.';

create table queue.metrics_range (
    zone text primary key,
    run_id bigint not null,                 -- the last run that handled all rows since the run before
    handled pg_snapshot not null,           -- The windows contain the rows that this snapshot sees.
    handled_at timestamptz not null         -- the time of the snapshot
);
comment on table queue.metrics_range is
    'Each row is a zone, with the recorded rows that its windows contain: a run of the metrics job stores it, and the '
    'next run begins at the end of this range. A run over a requested span (--from, --to) does not change this row.';

create table queue.metrics_open (
    zone text not null,
    queue_id int not null,
    minute_at timestamptz not null,
    -- This run stored the row. If the number is greater than in metrics_range, the run did not finish.
    run_id bigint not null,
    counts bigint[] not null,
    primary key (zone, queue_id, minute_at, run_id)
);
comment on table queue.metrics_open is
    'Each row is the counts of a queue''s minute from messages without a row in the history: a run of the metrics job '
    'inserts it, and the next run subtracts these counts from its own.';

-- The next two tables have the values of /metrics about the whole installation. One process at a time measures the
-- values, and all processes read the rows. Workers constantly rewrite these tables of some hundred rows, and PostgreSQL
-- prunes dead versions within a page. Autovacuum therefore starts only at 2,000 dead rows.

create table queue.measurement (
    queue_id int primary key,
    measured_at timestamptz not null,
    visible bigint not null,
    in_flight bigint not null,
    delayed bigint not null,
    oldest_at timestamptz,          -- when the oldest message was sent; null if the queue is empty
    noisy_groups int not null,      -- the number of groups whose messages receives defer
    dead_lettered bigint not null,  -- the number of messages that have ever moved to the dead-letter queue
    expired bigint not null default 0,  -- the number of messages whose retention has ever ended
    -- The first message, including messages whose retention is over, was sent at this time. The value is null if the
    -- queue is empty.
    first_sent_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.02, fillfactor = 50, autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_threshold = 2000);
comment on table queue.measurement is
    'Each row is the gauges of a queue for /metrics: the worker measure rewrites it every few seconds.';

create table queue.reading (
    name text not null,
    label text not null default '',
    value double precision not null,
    primary key (name, label)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);
comment on table queue.reading is
    'Each row is a gauge of the installation for /metrics: the worker measure rewrites it every few seconds. If a name '
    'has several values, each value has a label.';

-- Workers ------------------------------------------------------------------------------------------------------------

-- Each row is a worker, with the time of its last run and the queue after which it continues (next_queues): the worker
-- updates it.
create table queue.worker_position (
    worker text primary key,
    position bigint not null,       -- the queue's id; 0 if the next round begins
    ran_at timestamptz not null default clock_timestamp(),
    pause_ms bigint not null default 0  -- how long store_minutes pauses after ran_at
) with (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);


create unlogged table queue.write_probe (
    filler text not null
);
alter table queue.write_probe alter filler set storage plain;
comment on table queue.write_probe is
    'Rows that probe_write inserts and rolls back, to find out whether the disk has space. The table is always empty.';


-- Alerts -------------------------------------------------------------------------------------------------------------

create table queue.alert_target (
    account_id text primary key,    -- empty for QUEUE_ALERT_URL
    url text not null               -- as the user wrote it, with the prefix of the format
);
comment on table queue.alert_target is
    'Each row is the secret URL to which the alerts of an account go: a user or QUEUE_ALERT_URL sets it.';

create table queue.alert_round (
    is_only boolean primary key default true check (is_only),
    round bigint not null,
    started_at timestamptz not null,
    ended_at timestamptz            -- null before the first evaluation, or if no account has alerts
) with (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);
comment on table queue.alert_round is
    'The only row is the last evaluation of all problems, by the worker that sends alerts.';

create table queue.alert (
    account_id text not null,
    region text not null,           -- empty for a problem of the account
    subject text not null,          -- verdict, for all verdicts on a queue, or the kind of the problem
    name text not null,             -- the queue, endpoint or schedule
    kind text not null,             -- the kind of the problem that was reported
    state text not null check (state in ('pending', 'firing', 'ended')),
    evaluations int not null,       -- the number of consecutive evaluations that contradict the state
    since timestamptz not null,
    reported_rank int not null,         -- the worst rank that was reported; a smaller number is worse
    reported_number bigint not null,    -- the number of messages or deliveries that was reported, or the smallest since
    reported_at timestamptz,        -- when the last alert about the problem was sent, without its end
    title text not null default '', -- the name in the last alert, such as the first late schedule
    page text not null default '',  -- the path of the console's page in the last alert
    primary key (account_id, region, subject, name)
) with (fillfactor = 70, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);
comment on table queue.alert is
    'Each row is a problem that alerts report: each evaluation writes it. pending: the problem exists, but not for '
    'long enough; firing: the alert was sent; ended: the end was sent, and the problem sends no new alert until the '
    'pause after reported_at is over.';

create table queue.alert_mute (
    account_id text not null,
    region text not null,           -- empty for an endpoint or deliveries, which belong to the account
    resource text not null,         -- queue, endpoint, schedule, schedules, deliveries, mapping or subscriber
    name text not null,
    muted_until timestamptz not null,
    primary key (account_id, region, resource, name)
);
comment on table queue.alert_mute is
    'Each row is a resource whose problems alerts do not report until a time that a user chose.';



-- Event buses --------------------------------------------------------------------------------------------------------

-- Each row is an event bus, which CreateEventBus inserts, or the archive of a topic, which its ArchivePolicy creates.
create table queue.event_bus (
    bus_id bigint generated always as identity primary key,
    account_id text not null,
    region text not null,
    name text not null,
    arn text not null unique,
    description text,
    kms_key text,                   -- only shown
    retention_days int not null check (retention_days between 1 and 365),
    retained_since timestamptz not null default clock_timestamp(), -- no older event is retained; see show_event_bus
    policy text,                    -- the resource policy `default`
    policy_revision text,
    tags jsonb not null default '{}',
    client_token text,
    request_hash text,              -- the hash of the request with client_token
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    -- The topic whose archive this is. An archive has the topic's ARN, and a name that no other bus can have.
    topic_id int unique references queue.topic on delete cascade,
    subscribers_version uuid not null default gen_random_uuid(),    -- queue.note_event_subscribers
    unique (account_id, region, name)
);

-- Each row is a subscriber of an event bus: CreateSubscriber inserts it. A subscriber can belong to another account
-- than its bus. A revoked subscriber stays after the deletion of its bus.
create table queue.event_subscriber (
    subscriber_id bigint generated always as identity primary key,
    bus_id bigint not null,
    bus_arn text not null,
    account_id text not null,
    region text not null,
    name text not null,
    arn text not null unique,
    type text not null check (type in ('FIFO', 'UNORDERED')),
    starting_position text not null check (starting_position in ('LATEST', 'POINT_IN_TIME')),
    state text not null check (state in ('RUNNING', 'STOPPED')),
    revoked boolean not null default false,
    target_arn text not null,
    configuration jsonb not null,   -- the other members of DescribeSubscriber, by AWS's names, with their defaults
    tags jsonb not null default '{}',
    client_token text,
    request_hash text,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    deliverable boolean not null default true,  -- false: the worker cannot serve this kind of subscriber yet
    first_page bigint not null default 0,   -- the subscriber receives no events of this page and earlier pages
    follows boolean not null default true,  -- the subscriber reads with the cursor of the bus
    -- After a move of the position: no older event is for the subscriber, and events before moved_at are replayed.
    moved_to timestamptz,
    moved_at timestamptz,
    -- The carrier of a target outside the database; null: the worker delivers in the transaction of the cursor.
    carrier text generated always as (case
        when target_arn like 'arn:aws:lambda:%' or target_arn like 'arn:aws:events:::aws-sdk:lambda:%' then 'lambda'
        when target_arn like 'arn:aws:events:%:api-destination/%' then 'http' end) stored,
    batch_size int generated always as ((configuration #>> '{BatchConfiguration,MaxBatchSize}')::int) stored,
    batch_window_seconds int generated always as (
        (configuration #>> '{BatchConfiguration,MaxBatchWindowInSeconds}')::int) stored,
    unique (bus_id, account_id, name)
);
create index event_subscriber_owner on queue.event_subscriber (account_id, region, arn);
create index event_subscriber_bus on queue.event_subscriber (bus_id, arn);
create index event_subscriber_token on queue.event_subscriber (account_id, region, client_token)
    where client_token is not null;
create index event_subscriber_following
    on queue.event_subscriber (bus_id, account_id, region, first_page, subscriber_id) where follows and not revoked;
create index event_subscriber_apart on queue.event_subscriber (bus_id, state) where not follows and not revoked;

-- Each row is a connection, the authorization of requests to API destinations: CreateConnection inserts it.
create table queue.connection (
    arn text primary key,
    account_id text not null,
    region text not null,
    name text not null,
    description text,
    authorization_type text not null
        check (authorization_type in ('BASIC', 'API_KEY', 'OAUTH_CLIENT_CREDENTIALS')),
    parameters jsonb not null,      -- AuthParameters without secrets
    -- AuthParameters with secrets, as JSON that AES-256-GCM encrypts under QUEUE_ENCRYPTION_KEY.
    sealed_parameters bytea not null,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    unique (account_id, region, name)
);

-- Each row is an HTTP endpoint that can be the target of subscribers: CreateApiDestination inserts it.
create table queue.api_destination (
    arn text primary key,
    account_id text not null,
    region text not null,
    name text not null,
    connection_arn text not null references queue.connection,
    description text,
    invocation_endpoint text not null,
    http_method text not null,
    rate_limit int not null check (rate_limit > 0), -- requests a second
    next_turn_at timestamptz not null default clock_timestamp(), -- the first time that no worker has taken
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    unique (account_id, region, name)
) with (fillfactor = 70);
create index api_destination_connection on queue.api_destination (connection_arn);

-- Each row is an event source, from which a bus receives events: CreateEventSource inserts it.
create table queue.event_source (
    source_id bigint generated always as identity primary key,
    bus_id bigint not null,
    bus_arn text not null,
    account_id text not null,
    region text not null,
    name text not null,
    arn text not null unique,
    type text not null check (type in ('AWS_SERVICE_EVENTS', 'PARTNER_EVENTS', 'WEBHOOK_EVENTS')),
    revoked boolean not null default false,
    configuration jsonb not null,   -- the members Configuration and Description, by AWS's names, without secrets
    tags jsonb not null default '{}',
    client_token text,
    request_hash text,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    unique (account_id, region, name)
);
create index event_source_bus on queue.event_source (bus_id, arn);
create index event_source_token on queue.event_source (account_id, region, client_token)
    where client_token is not null;

-- Each row is the address and the credentials of a webhook: CreateEventSource inserts it, and a rotation changes it.
-- QUEUE_ENCRYPTION_KEY encrypts the credentials.
create table queue.event_webhook (
    source_id bigint primary key references queue.event_source on delete cascade,
    url_key text not null unique,       -- the last segment of the webhook's URL
    secret bytea not null,
    previous_secret bytea,              -- the secret that the last rotation replaced
    previous_until timestamptz,         -- when the previous secret ends
    rotation_token text,                -- the client token of the last rotation, and the hash of its request
    rotation_hash text,
    rotated_at timestamptz
);

-- Each row is an event of a bus: the publisher's transaction inserts it, and maintenance drops it with its partition,
-- which has the events of one retention class and one day or week. `number` is the sequence number. The publisher's
-- transaction takes a block of 1,024 numbers when it inserts up to 1,024 events: block n has the numbers from n * 1024.
-- A later number can commit earlier: queue.sequence_events decides the order of delivery. The first event of a run,
-- which has up to 100 consecutive numbers of one call, describes the run.
create sequence queue.event_block;
create table queue.event (
    number bigint not null,
    bus_id bigint not null,
    ingested_at timestamptz not null,
    event_id uuid not null,
    retention_class smallint not null,  -- queue.retention_class of the bus at the time of the publication
    -- 0 application/eventbridge+json, 1 application/json, 2 application/octet-stream
    content_type smallint not null,
    account_id text,                    -- the publisher's account; null: the account of the bus
    group_id text,                      -- null: the publisher gave none, and the event is the only one of its group
    deduplication_id text,              -- null: the publisher gave none
    source text,                        -- null for PutRawEvents, as is detail_type
    detail_type text,
    metadata jsonb,
    data bytea not null,
    passed text,                        -- the ARNs of the buses that forwarded the event; null: a publisher sent it
    run_events int,                     -- the number of events of the run; null: the event is not the first
    run_bytes int,                      -- the size of their data; null: the event is not the first
    primary key (number, ingested_at, retention_class)
) partition by range (retention_class, ingested_at);
create index event_run on queue.event (number) where run_events is not null;
create table queue.event_default partition of queue.event default;
alter sequence queue.event_block owned by queue.event.number;

-- Each row is a deduplication id or a content hash of the last five minutes: the publication inserts it. `digest`
-- covers the account, the group and the id.
create table queue.event_deduplication (
    bus_id bigint not null,
    digest uuid not null,
    event_id uuid not null,
    number bigint not null,
    expires_at timestamptz not null,
    primary key (bus_id, digest)
);
create index event_deduplication_expires_at on queue.event_deduplication (expires_at);

-- Each row is a page of events in the order in which a bus delivers them: queue.sequence_events inserts it. All
-- subscribers and all replays read the same pages.
create table queue.event_page (
    bus_id bigint not null,
    page bigint not null,               -- 1, 2, 3 …
    sequenced_at timestamptz not null,  -- rises with the page
    first_at timestamptz not null,      -- the earliest and the latest ingested_at of the page's events
    last_at timestamptz not null,
    events_before bigint not null,      -- the number of events in earlier pages
    bytes int not null,                 -- the size of the events' data
    bytes_before bigint not null,       -- the bytes of earlier pages
    numbers bigint[] not null,
    primary key (bus_id, page)
);
create index event_page_sequenced_at on queue.event_page (bus_id, sequenced_at);

-- Each row is a number up to which queue.sequence_events has read: each call inserts a row, and the newest counts. An
-- update in place would make each reader pass all earlier versions while an old snapshot exists.
create table queue.event_watermark (
    version bigint generated always as identity primary key,
    number bigint not null,
    since timestamptz not null          -- events with later numbers were ingested after this time
);

-- Each row is blocks of numbers below the watermark, without a visible event when queue.sequence_events passed them and
-- inserted the row. Their transactions are open, have rolled back, or have published only duplicates
-- (queue.is_gap_over).
create table queue.event_gap (
    first_block bigint primary key,
    last_block bigint not null,
    snapshot pg_snapshot not null,      -- the snapshot that did not see the events
    last_xid xid8,                      -- the events' transactions have lower ids; null: not yet known
    since timestamptz not null          -- the events were ingested after this time
);

-- Each row is the last page that the worker has delivered: the worker inserts it, and the newest row counts.
-- Subscribers that have read the same pages share the row with the subscriber_id 0.
create table queue.event_cursor (
    bus_id bigint not null,
    subscriber_id bigint not null,
    version bigint generated always as identity,
    page bigint not null,
    resumes_at timestamptz,             -- all replays pause until this time, because live events arrive; null: no pause
    primary key (bus_id, subscriber_id, version)
);
create index event_cursor_page on queue.event_cursor (bus_id, page) where subscriber_id <> 0;
create index event_cursor_resumes_at on queue.event_cursor (resumes_at) where resumes_at is not null;

-- Each row is an event that a target has refused, or that waits behind an earlier event of its group, or whose target
-- is outside the database: the worker inserts it (queue.settle_events), and delivers it again or sends it to the
-- failure queue.
create table queue.event_retry (
    retry_id bigint generated always as identity primary key,
    bus_id bigint not null,
    subscriber_id bigint not null,
    number bigint not null,
    ingested_at timestamptz not null,
    group_key text,                     -- the publisher and the group of a FIFO subscriber's event; null: no order
    attempts int not null,
    first_attempt_at timestamptz,       -- null: no attempt has ended
    -- infinity: the event waits behind another event. The time of a leased event is the end of the lease.
    due_at timestamptz not null,
    error_code text,
    error_message text,
    carrier text,                       -- the carrier of the subscriber; null: the worker delivers in its transaction
    lease uuid,                         -- the claim of the worker that sends the event to its target
    bytes int not null default 0        -- the size of the event's data
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index event_retry_due_at on queue.event_retry (bus_id, due_at) where carrier is null;
create index event_retry_carried on queue.event_retry (subscriber_id, due_at, retry_id) where carrier is not null;
create index event_retry_group on queue.event_retry (subscriber_id, group_key, retry_id);

-- Each row is the outcomes of a subscriber's events: a worker adds its counts every few seconds; a crash loses the last
-- counts.
create table queue.event_outcome (
    bus_id bigint not null,
    subscriber_id bigint not null,
    delivered bigint not null default 0,
    refused bigint not null default 0,  -- attempts that the target has refused
    failed bigint not null default 0,   -- events whose delivery has ended without success
    minute timestamptz not null,        -- the minute of the last count
    delivered_in_minute bigint not null default 0,
    delivered_before bigint not null default 0, -- in the minute before `minute`
    refused_at timestamptz,             -- the last attempt that the target has refused
    error_code text,
    error_message text,
    failed_at timestamptz,              -- the last event whose delivery has ended without success
    failed_since timestamptz,           -- the first one of those without a pause of 15 minutes between two of them
    failed_before bigint not null default 0,    -- `failed` before that one
    primary key (bus_id, subscriber_id)
);
create index event_outcome_failed on queue.event_outcome (bus_id, failed_at) where failed_at is not null;

-- Each row is a replay of archived messages to a subscription: setting a ReplayPolicy inserts it (queue.start_replay),
-- and it stays after the end for ReplayStatus. A worker that delivers has locked the subscription's row.
create table queue.topic_replay (
    subscription_id uuid primary key references queue.subscription on delete cascade,
    replay_id bigint not null generated always as identity,
    archive_id bigint not null,
    starts_at timestamptz not null,
    ends_at timestamptz,                -- null: the replay ends when it has caught up with the publications
    status text not null default 'Pending' check (status in ('Pending', 'In progress', 'Completed', 'Failed')),
    page bigint not null,               -- the last page that has been delivered
    due_at timestamptz not null default clock_timestamp(),
    resumes_at timestamptz              -- as in event_cursor
) with (fillfactor = 50);
create index topic_replay_resumes_at on queue.topic_replay (resumes_at) where resumes_at is not null;
create index topic_replay_due on queue.topic_replay (archive_id, due_at) where status in ('Pending', 'In progress');


-- Compression --------------------------------------------------------------------------------------------------------

-- lz4 compresses texts of over 2 KB if the server supports lz4. For a megabyte of JSON, pglz takes 25 ms of CPU, and
-- lz4 a time that was too short to measure.
do $$
declare
    v_column record;
begin
    if not exists (select from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals)) then
        return;
    end if;
    for v_column in
        select * from (values ('log', 'body'), ('log', 'attributes'), ('side', 'body'), ('side', 'attributes'),
            ('fifo_message', 'body'), ('fifo_message', 'attributes'), ('archive', 'body'), ('archive', 'attributes'),
            ('notice', 'raw'), ('notice', 'head'), ('notice', 'attributes'), ('event', 'data'),
            ('event_default', 'data')) c (table_name, name)
    loop
        execute format('alter table queue.%I alter column %I set compression lz4', v_column.table_name, v_column.name);
    end loop;
end $$;
