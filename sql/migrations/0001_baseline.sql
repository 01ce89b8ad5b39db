-- All tables of Penstock, by subject. docs/how_it_works.md says why they look like this.
--
--   queues · standard queues · fair queues · FIFO queues · ids after a failover · limits · dead letters
--   history and archive · long polls · topics · phones and mobile apps · mail · routed events · deliveries
--   event source mappings · schedules · access and keys · the console · metrics · workers · compression
--
-- Until release 0.1.0, every change of a table is an edit of this file. From then on it is a migration (CONTRIBUTING.md).


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
    attributes jsonb not null,      -- as the user wrote them, defaults included; the generated columns read them
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
    -- Whether receives count the queue's messages in flight: there are so many that the limit may be near.
    counts_in_flight boolean not null default false,
    history_since timestamptz,      -- since when its history is complete, set when the attribute history becomes true again;
                                    -- null: since the queue was made
    paused boolean not null default false,
    unique (account_id, region, name)
);
-- Which queues name a queue as their dead-letter queue.
create index queues_dead_letter_arn on queue.queues (dead_letter_arn, name) where dead_letter_arn is not null;
comment on table queue.queues is 'One row a queue; its address everywhere else is the ARN.';
comment on column queue.queues.paused is 'The attribute of this name: receives get nothing. Written with the attributes.';

create table queue.dropped_queue (
    queue_id int primary key,
    arn text not null,
    dropped_at timestamptz not null default clock_timestamp(),
    cleaned_at timestamptz
);
create index dropped_queue_arn on queue.dropped_queue (arn, dropped_at);
create index dropped_queue_not_cleaned on queue.dropped_queue (queue_id) where cleaned_at is null;
comment on table queue.dropped_queue is 'Deleted queues: their messages are cleaned piece by piece, their names may be refused for a while.';
comment on column queue.dropped_queue.cleaned_at is 'Nothing of it is left but metrics, which have its name from here.';


-- Standard queues: the log and its leases; the slow path ------------------------------------------------------------

-- Autovacuum of these tables comes for the last dead rows, too, and leaves none of them in the pages: a file can be cut off
-- only behind the last row, dead ones included. So a part of the table decides alone (threshold 0), and the indexes are
-- cleaned each time.

-- Indexes by time start with this expression instead of queue_id: a look-up by queue, shard and id must never take one
-- of them, which it would, on the statistics of a small table, and read a thousand rows for one. It has no file in
-- sql/functions because indexes need it, so that it cannot change.
create function queue.time_key(p_queue_id int, p_shard int) returns bigint
language sql immutable parallel safe
return (p_queue_id::bigint << 8) | (p_shard + 2);

-- The log is only appended to. A shard has one writing transaction at a time, so its ids have no gaps and become visible in
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
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_threshold = 0,
    vacuum_index_cleanup = on);

-- A lease: the messages first_id..pos of a shard that one receive got. The row with the highest pos of a shard is the
-- shard's cursor: everything up to pos was received at least once. Cursor rows are inserted, never moved.
create table queue.lease (
    pos bigint not null,
    first_id bigint not null,
    visible_at timestamptz not null,
    first_received_at timestamptz,
    watermark timestamptz not null, -- newest row: no lease with messages left ends at or before it
    low bigint not null,            -- newest row: everything up to it is deleted
    queue_id int not null,
    receive_count int not null,     -- deliveries so far, of every message of the lease
    nonce int not null default 1 + floor(random() * 2147483647)::int,
    shard smallint not null,
    ids bigint[] not null,          -- not acknowledged yet; empty = done
    gone bigint[],                  -- left before the others …
    gone_at timestamptz[],          -- … acknowledged then, or null: moved to the slow path or a dead-letter queue
    done_at timestamptz,            -- when the last ones were acknowledged
    outcome text,                   -- null: deleted by the consumer; else purged, expired
    has_tenants boolean,            -- newest row: its messages have groups
    redelivered_at timestamptz[],   -- of all its messages: receives after the first, as queue.add_redelivery keeps them
    primary key (queue_id, shard, pos)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_threshold = 0, vacuum_index_cleanup = on);
create index lease_visible_at on queue.lease (queue.time_key(queue_id, shard), visible_at);
comment on column queue.lease.nonce is 'Random, never 0; a receipt handle names it, so that it fits no other lease at this position.';

-- The slow path, one row a message: delays, changed visibility, arrivals in a dead-letter queue, "all shards busy".
create table queue.side (
    id bigint not null,
    visible_at timestamptz not null,
    sent_at timestamptz not null,
    first_received_at timestamptz,
    message_id uuid not null,
    queue_id int not null,
    receive_count int not null default 0,
    shard smallint not null,        -- -1: it was stored here first; else the shard and id that it had in the log
    body text not null,
    attributes jsonb,
    system jsonb,
    answer_bytes jsonb,             -- how long it is in answers of which it was too long for some; measured once
    entered_at timestamptz,         -- when it entered the queue; null: when it was sent
    redelivered_at timestamptz[],   -- receives after the first, as queue.add_redelivery keeps them; null: none
    primary key (queue_id, shard, id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_threshold = 0,
    vacuum_index_cleanup = on);
create index side_visible_at on queue.side (queue.time_key(queue_id, -1), visible_at);
-- The oldest messages: the worker ends what is past its retention, wherever in the queue it is.
create index side_sent_at on queue.side (queue.time_key(queue_id, -1), sent_at);
create sequence queue.side_id;

-- Messages that were deleted before anybody received them: holes above a cursor, for exact counts.
create table queue.hole (
    queue_id int not null,
    shard smallint not null,
    id bigint not null,
    primary key (queue_id, shard, id)
);

-- How far a shard was swept behind a lease that is open for long (queue.sweep_shard). Its first sweep makes the row.
create table queue.sweep (
    queue_id int not null,
    shard smallint not null,
    pos bigint not null,            -- everything done from the cursor's low up to here is deleted
    again_at bigint not null,       -- once the cursor is here, sweeping begins at low again, for rows open before
    primary key (queue_id, shard)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);

-- One row of a receive. The first row of an answer is its header: error and wait_seconds, the rest null.
create type queue.received_row as (
    error text,
    wait_seconds int,
    queue_id int,
    shard smallint,                 -- >= 0 log, -1 slow path, -2 FIFO
    pos bigint,                     -- the lease, 0 without one
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
    nonce int                       -- of the lease, 0 without one
);

-- A message as queue.receive, queue.receive_fifo and queue.pop hand it out. A type, since a column of a `returns table` may
-- not have the name of a parameter (vt).
create type queue.received_message as (
    msg_id bigint,
    read_ct int,
    enqueued_at timestamptz,
    vt timestamptz,
    message jsonb,
    headers jsonb
);


-- Fair queues: tenants (message groups) of a standard queue that keep the consumers busy are set back ----------------
-- Facts about a queue's tenants. A row a queue.
create table queue.noise (
    queue_id int primary key,
    noisy text[],                   -- tenants that are set back now, those with the fewest messages in flight first
    judged_at timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Messages that were passed over: those of one tenant in one lease, which covers them, ends at 'infinity' and has been
-- received 0 times. The lease is the truth, ids may name some that are gone.
create table queue.deferred (
    queue_id int not null,
    group_id text not null,
    deferred_at timestamptz not null,
    shard smallint not null,
    pos bigint not null,
    ids bigint[] not null,
    primary key (queue_id, group_id, deferred_at, shard, pos)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);


-- FIFO queues: a row a message, a row a group, a row a change of when a group is ready -------------------------------

-- The group's row is its lock: senders keep it until commit, so ids of a group become visible in order; receivers skip a
-- locked group. It never changes.
create table queue.fifo_group (
    group_key bigint generated always as identity primary key,
    queue_id int not null,
    group_id text not null,
    unique (queue_id, group_id)
) with (fillfactor = 60, autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05,
    vacuum_index_cleanup = on);

-- When a group's first message may be received: a row a change, of which the newest counts. A search begins at the newest
-- entry of an index, or above those of the past, so it reads no rows that are deleted and that an old snapshot keeps.
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
    system jsonb,
    answer_bytes jsonb,             -- as in queue.side
    redelivered_at timestamptz[]
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_threshold = 0, vacuum_index_cleanup = on);
-- The index serves only queries that say "group_key > 0", as every group's is: one for a message by its id, planned while
-- the table is small, would else read the whole index.
create index fifo_message_of_group on queue.fifo_message (group_key, id) where group_key > 0;
create sequence queue.fifo_id;

create table queue.deduplication (
    queue_id int not null,
    scope text not null,            -- '' for the whole queue, else the message group
    deduplication_id text not null,
    message_id uuid not null,
    id bigint not null,
    expires_at timestamptz not null,
    primary key (queue_id, scope, deduplication_id)
) with (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on);
create index deduplication_expires_at on queue.deduplication (expires_at);

-- What a receive with a ReceiveRequestAttemptId answered, for its repetition.
create table queue.receive_attempt (
    queue_id int not null,
    attempt_id text not null,
    received_at timestamptz not null default clock_timestamp(),
    visible_at timestamptz not null,    -- of all its messages
    ids bigint[] not null,              -- of queue.fifo_message, in the order of the answer
    receive_counts int[] not null,
    primary key (queue_id, attempt_id)
);
create index receive_attempt_received_at on queue.receive_attempt (received_at);
comment on table queue.receive_attempt is 'Receives of FIFO queues that can be repeated by their ReceiveRequestAttemptId.';


-- Ids after a failover or a restore: they go on far above those that the lost part of the database may have given out ---

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


-- Limits -------------------------------------------------------------------------------------------------------------

-- The last count of a queue with counts_in_flight. Unlogged: a receive that does not find it counts again.
create unlogged table queue.in_flight (
    queue_id int primary key,
    messages bigint not null,
    good_until timestamptz not null -- before then it need not be repeated
);
comment on table queue.in_flight is 'Messages in flight of queues that have many.';


-- Dead letters -------------------------------------------------------------------------------------------------------

-- Tasks that move the messages of a dead-letter queue (StartMessageMoveTask), or some of them: those of a list of ids, or
-- those that pass a filter.
create table queue.move_task (
    task_id uuid primary key default gen_random_uuid(),
    queue_id int not null,          -- the source
    destination_arn text,           -- null: each message returns to the queue that it came from
    maximum_per_second int check (maximum_per_second between 1 and 500),
    status text not null default 'RUNNING' check (status in ('RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED')),
    failure_reason text,
    to_move bigint not null,        -- messages that could be received when the task was started
    moved bigint not null default 0,
    started_at timestamptz not null default clock_timestamp(),
    paced_at timestamptz not null default clock_timestamp(),    -- up to then its rate is used up; no rate: the last step
    ids bigint[],                   -- public ids, ascending; null: not by ids
    filter jsonb,                   -- of queue.find_messages; null: not by a filter. Both null: all messages
    place text,                     -- of a filter, after which it looks on; of ids, the last one done
    looked_at bigint not null default 0,
    skipped bigint not null default 0,  -- selected, but in flight, delayed, or without a queue to move to
    canary int,                     -- after so many it waits until it is told to go on; null: it does not wait
    continued_at timestamptz,       -- when it was told to
    ended_at timestamptz
) with (fillfactor = 60);
create index move_task_queue on queue.move_task (queue_id, started_at);
create unique index move_task_running on queue.move_task (queue_id) where status = 'RUNNING';
comment on table queue.move_task is 'Message move tasks: those that run, and the last ones of each queue.';
comment on column queue.move_task.ids is 'A task without ids and filter moves all messages, as StartMessageMoveTask does.';

-- Moves to dead-letter queues that are not in queue.measurement yet. Rows are only added and, by the next measurement,
-- added up: no transaction that moves messages waits for another.
create table queue.dead_letter_count (
    queue_id int not null,          -- the queue that the messages left
    messages bigint not null
);
create index dead_letter_count_queue on queue.dead_letter_count (queue_id);


-- History and archive ------------------------------------------------------------------------------------------------
-- Outcomes of messages, without bodies, for metrics: one row for messages received together. The transaction lets a
-- reader stop below pg_snapshot_xmin, so that it misses no row that commits late.
create table queue.history (
    recorded_at timestamptz not null default clock_timestamp(),
    first_received_at timestamptz,
    queue_id int not null,
    receive_count int not null,
    outcome text not null,
    group_id text,
    sent_at timestamptz[] not null,
    finished_at timestamptz[] not null,
    group_ids text[],               -- a group a message, in the order of sent_at; null: all are of group_id, or of none
    transaction xid8 not null default pg_current_xact_id(),
    entered_at timestamptz[],       -- beside sent_at; null: the same
    entered_by text,                -- dead_lettered, moved; null: sent
    redelivered_at timestamptz[]    -- of all messages of the row
) partition by range (recorded_at);
create table queue.history_default partition of queue.history default;
create index history_queue on queue.history (queue_id, recorded_at);
-- Not on partitions that are older than the index: they are read whole.
create index history_recorded_at on only queue.history using brin (recorded_at);
create index history_default_recorded_at on queue.history_default using brin (recorded_at);
alter index queue.history_recorded_at attach partition queue.history_default_recorded_at;
comment on column queue.history.outcome is 'deleted, purged, expired, dead_lettered, moved (by a message move task)';

create table queue.history_drop (
    name text primary key,          -- history, outgoing_delivery_history, schedule_run
    dropped_before timestamptz not null
);
comment on table queue.history_drop is 'Rows of a history that were recorded before this time may have been dropped.';

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


-- Long polls ---------------------------------------------------------------------------------------------------------

-- Which process waits for a queue. A sender that finds a fresh row removes it and notifies; unlogged, since waiting
-- processes check each second anyway. The time is part of the key: a check starts above the dead entries of the past.
create unlogged table queue.watcher (
    queue_id int not null,
    registered_at timestamptz not null default clock_timestamp(),
    watcher uuid not null,
    primary key (queue_id, registered_at, watcher)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_threshold = 1000);


-- Which requests of a function of Lambda wait in long polls: at most so many at once (queue.take_poll_slot). A row a slot
-- and function, updated in place. Unlogged: without it some more requests wait at once.
create unlogged table queue.poll_slot (
    function_name text not null,
    slot int not null,
    holder uuid not null,
    ends_at timestamptz not null,   -- of a slot that is free: in the past
    primary key (function_name, slot)
) with (fillfactor = 50);
comment on table queue.poll_slot is 'Requests that wait in long polls of functions of Lambda.';

create unlogged table queue.receiver (
    queue_id int not null,
    caller text not null,           -- ARN of the user, or with the key id that the request names
    agent text not null,            -- User-Agent, up to 200 characters
    address text not null,          -- the client's IP address
    first_at timestamptz not null,
    last_at timestamptz not null,   -- the end of its last receive, also of an empty one
    received bigint not null,       -- messages, since first_at
    primary key (queue_id, caller, agent, address)
) with (fillfactor = 70);
comment on table queue.receiver is 'Receivers, noted by processes of the container each ten seconds and kept for a day. Lost in a crash.';


-- Topics and their subscriptions (SNS) -------------------------------------------------------------------------------

create table queue.topic (
    topic_id int generated always as identity primary key,
    account_id text not null,
    region text not null,
    name text not null,
    arn text not null generated always as ('arn:aws:sns:' || region || ':' || account_id || ':' || name) stored unique,
    fifo boolean not null generated always as (right(name, 5) = '.fifo') stored,
    created_at timestamptz not null default clock_timestamp(),
    attributes jsonb not null,      -- as the user wrote them; the columns below read them
    tags jsonb not null default '{}',
    signature_version text not null generated always as (coalesce(attributes ->> 'SignatureVersion', '1')) stored,
    content_based_deduplication boolean not null
        generated always as (coalesce((attributes ->> 'ContentBasedDeduplication')::boolean, false)) stored,
    deduplicates_groups boolean not null
        generated always as (coalesce(attributes ->> 'FifoThroughputScope', 'Topic') = 'MessageGroup') stored,
    unique (account_id, region, name)
);

create table queue.subscription (
    subscription_id uuid primary key,
    topic_id int not null references queue.topic on delete cascade,
    arn text not null unique,
    owner text not null,            -- the account that subscribed
    protocol text not null,         -- sqs, http, https, email, email-json, sms, application, lambda, firehose
    endpoint text not null,         -- of a queue its ARN
    created_at timestamptz not null default clock_timestamp(),
    attributes jsonb not null,      -- as the user wrote them
    filter jsonb,                   -- FilterPolicy, compiled; null: every message
    raw boolean not null generated always as (coalesce((attributes ->> 'RawMessageDelivery')::boolean, false)) stored,
    filter_scope text not null
        generated always as (coalesce(attributes ->> 'FilterPolicyScope', 'MessageAttributes')) stored,
    dead_letter_arn text generated always as ((attributes ->> 'RedrivePolicy')::jsonb ->> 'deadLetterTargetArn') stored,
    confirmed boolean not null,
    token text,                     -- what confirms it
    token_expires_at timestamptz,
    authenticates_unsubscribe boolean not null default false,
    -- Whether the queues that it delivers to let it. Policies are evaluated when a subscription or a policy changes, not for
    -- each message.
    target_allowed boolean not null default true,
    dead_letter_queue_allowed boolean not null default true,
    principal text,
    mail_refusals int not null default 0,
    unique (topic_id, protocol, endpoint)
);
comment on column queue.subscription.target_allowed is 'Whether the policy of the subscribed queue lets this topic send.';
comment on column queue.subscription.dead_letter_queue_allowed is 'The same of the queue of its RedrivePolicy.';
comment on column queue.subscription.principal is 'The ARN of the subscriber.';
comment on column queue.subscription.mail_refusals is 'How often in a row the mail server has refused the address for good.';
create index subscription_owner on queue.subscription (owner, subscription_id);
create index subscription_token on queue.subscription (token);
create index subscription_pending on queue.subscription (token_expires_at) where not confirmed;  -- for maintenance
create index subscription_endpoint on queue.subscription (endpoint, subscription_id) where protocol = 'sqs';
create index subscription_dead_letters on queue.subscription (dead_letter_arn) where dead_letter_arn is not null;
create index subscription_receiver on queue.subscription (split_part(endpoint, ':', 5), subscription_id)
    where protocol = 'sqs';

-- Subscriptions of URLs that were ended, for as long as their endpoint may take that back.
create table queue.former_subscription (
    topic_id int not null references queue.topic on delete cascade,
    protocol text not null,
    endpoint text not null,
    subscription jsonb not null,    -- the row that was deleted
    token text not null unique,     -- what its UnsubscribeConfirmation told the endpoint
    expires_at timestamptz not null,
    primary key (topic_id, protocol, endpoint)
);
create index former_subscription_expires_at on queue.former_subscription (expires_at);
comment on table queue.former_subscription is 'What the SubscribeURL of an UnsubscribeConfirmation restores.';

-- FIFO topics: ids seen in the last five minutes. No foreign key: a publish has just read its topic, and the check would be
-- a query for each message. What a deleted topic remembers ends by itself, within five minutes.
create table queue.topic_deduplication (
    topic_id int not null,
    scope text not null,            -- '' for the whole topic, else the message group
    deduplication_id text not null,
    message_id uuid not null,
    sequence_number bigint not null,
    expires_at timestamptz not null,
    primary key (topic_id, scope, deduplication_id)
) with (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on);
create index topic_deduplication_expires_at on queue.topic_deduplication (expires_at);
create sequence queue.topic_sequence;


-- Phones, mobile apps, e-mail and functions --------------------------------------------------------------------------

-- Messages that leave by no queue and no URL: text messages, mobile push, e-mail. Kept for some days, to be looked at.
create table queue.outgoing (
    outgoing_id bigint generated always as identity primary key,
    created_at timestamptz not null default clock_timestamp(),
    account_id text not null,
    region text not null,
    protocol text not null,         -- of a subscription: sms, application, email, email-json, lambda, firehose
    kind text not null,             -- message type of SNS, or OneTimePassword
    destination text not null,      -- the endpoint: a phone number, an address, an ARN
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
comment on table queue.outgoing is 'Messages for phones, mobile apps, e-mail and functions.';
comment on column queue.outgoing.state is 'kept: nothing carries it; waiting: a delivery does.';
comment on column queue.outgoing.dead_letter_arn is 'The dead-letter queue of the subscription.';
comment on column queue.outgoing.envelope is 'The message for that queue if a gateway cannot deliver; null without such a queue.';
comment on column queue.outgoing.unsubscribe_url is 'The link in a mail that ends the subscription.';
create index outgoing_account on queue.outgoing (account_id, outgoing_id);
create index outgoing_kept on queue.outgoing (protocol, account_id, created_at) where state = 'kept';

-- Accounts of which more than QUOTA_DELIVERIES of a protocol wait for their carrier, as last counted: they publish none until
-- fewer wait.
create table queue.outgoing_excess (
    account_id text not null,
    protocol text not null,
    waiting bigint not null,
    counted_at timestamptz not null,
    primary key (account_id, protocol)
);
comment on table queue.outgoing_excess is 'Accounts with more outgoing messages of a protocol than QUOTA_DELIVERIES.';

create table queue.platform_application (
    application_id int generated always as identity primary key,
    account_id text not null,
    region text not null,
    platform text not null,
    name text not null,
    arn text not null generated always as (
        'arn:aws:sns:' || region || ':' || account_id || ':app/' || platform || '/' || name) stored unique,
    created_at timestamptz not null default clock_timestamp(),
    credentials text not null,      -- SHA-256 of the credentials, which are not kept
    attributes jsonb not null,
    unique (account_id, region, arn)
);
comment on table queue.platform_application is 'Mobile apps to which SNS publishes.';

create table queue.platform_endpoint (
    endpoint_id uuid primary key,
    application_id int not null,    -- of one that exists, or of a dropped_platform_application
    arn text not null unique,
    account_id text not null,
    created_at timestamptz not null default clock_timestamp(),
    token text not null,
    attributes jsonb not null
);
comment on table queue.platform_endpoint is 'Mobile apps on devices: what Publish may have as TargetArn.';
create unique index platform_endpoint_token on queue.platform_endpoint (application_id, md5(token));
create index platform_endpoint_application on queue.platform_endpoint (application_id, endpoint_id);

create table queue.platform_endpoint_count (
    account_id text not null,
    part int not null,
    endpoints bigint not null,
    primary key (account_id, part)
);
comment on table queue.platform_endpoint_count is 'How many endpoints accounts have: the sum of the parts.';
comment on column queue.platform_endpoint_count.part is 'Sessions that count at the same time seldom count in the same row.';

create table queue.dropped_platform_application (
    application_id int primary key,
    account_id text not null,
    dropped_at timestamptz not null default clock_timestamp()
);
comment on table queue.dropped_platform_application is 'Deleted applications whose endpoints have yet to be removed.';

create table queue.sms_setting (
    account_id text not null,
    region text not null,
    attributes jsonb not null,
    primary key (account_id, region)
);
comment on table queue.sms_setting is 'SMS attributes of accounts.';

create table queue.opted_out_number (
    account_id text not null,
    region text not null,
    phone_number text not null,
    opted_out boolean not null,
    opted_in_at timestamptz,        -- the last time that the account has opted it in
    primary key (account_id, region, phone_number)
);
comment on table queue.opted_out_number is 'Phone numbers whose holders want no text messages of an account, or have not wanted any.';

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
comment on table queue.sandbox_number is 'Phone numbers of the SMS sandbox of accounts.';


-- Mail ---------------------------------------------------------------------------------------------------------------

create table queue.confirmation_mail (
    confirmation_id bigint generated always as identity primary key,
    account_id text not null,
    address text not null,          -- in lower case
    due_at timestamptz not null
);
comment on table queue.confirmation_mail is 'When mails that ask for a confirmation go out: those of the last hour, and those to come.';
create index confirmation_mail_account on queue.confirmation_mail (account_id, due_at);
create index confirmation_mail_address on queue.confirmation_mail (address, due_at);


-- Routed events: patterns of routing keys, bound to queues and URLs --------------------------------------------------

create table queue.binding (
    binding_id bigint generated always as identity primary key,
    account_id text not null,
    region text not null,
    pattern text not null,
    segments text[] not null generated always as (string_to_array(pattern, '.')) stored,
    literal boolean not null generated always as (position('*' in pattern) + position('#' in pattern) = 0) stored,
    protocol text not null,         -- queue, http, https
    endpoint text not null,         -- ARN of a queue, or a URL
    envelope boolean not null default false,
    filter jsonb,                   -- filter policy on the message, compiled; null: every message
    filter_policy text,             -- the same as the user wrote it
    created_at timestamptz not null default clock_timestamp(),
    unique (account_id, region, pattern, protocol, endpoint)
);
create index binding_wildcard on queue.binding (account_id, region) where not literal;
create index binding_endpoint on queue.binding (endpoint);


-- Deliveries: messages on their way out, a notice a publish, a delivery an endpoint. The worker `deliver` sends them ----
-- The contents of deliveries, once for all endpoints that get the same text: notifications and confirmations of
-- SNS, routed events, messages for the gateway and mail servers, invocations of functions.
create table queue.notice (
    notice_id bigint generated always as identity primary key,
    created_at timestamptz not null default clock_timestamp(),
    kind text not null,             -- Notification, SubscriptionConfirmation, UnsubscribeConfirmation, event, gateway, …
    topic_arn text,                 -- of SNS; of an event, what stands for it in an envelope
    routing_key text,               -- of an event
    message_id uuid not null,
    raw text not null,              -- the message itself; of a confirmation, all of it
    head text,                      -- an envelope is head, the subscription's ARN, tail
    tail text,
    headers jsonb,                  -- of an event, as the publisher gave them
    attributes jsonb,               -- message attributes in the shape of SQS's JSON: for raw dead letters
    trace text                      -- docs/tracing.md
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index notice_message on queue.notice (message_id);
comment on table queue.notice is 'What a publish says to its endpoints; goes with the last of its deliveries.';
comment on column queue.notice.trace is 'The X-Ray trace header of the request that published it, if it was traced.';

-- One endpoint that is to get a notice: a URL, a function, or a name for the gateway or the mail server. The row is deleted
-- when it has been delivered; exhausted ones stay.
create table queue.outgoing_delivery (
    delivery_id bigint generated always as identity primary key,
    notice_id bigint not null,
    created_at timestamptz not null default clock_timestamp(),
    account_id text not null,       -- the account that may list and retry it
    subscription_arn text,          -- SNS; else the binding of an event
    binding_id bigint,
    endpoint text not null,
    raw boolean not null,           -- the message alone, without envelope
    subscription_policy text,       -- DeliveryPolicy of the subscription and of its topic when it was published
    topic_policy text,
    dead_letter_arn text,
    state text not null default 'pending' check (state in ('pending', 'exhausted')),
    attempts int not null default 0, -- those whose outcome is known
    due_at timestamptz not null default clock_timestamp(), -- the next attempt; leased: when the lease ends
    lease uuid,                     -- the claim that holds it: only its holder may write the outcome
    waiting boolean not null default false, -- set aside: its endpoint is paused, slow or throttled, or its host is busy
    -- Deliveries that delay each other: those to one endpoint; a throttled subscription counts as a separate endpoint.
    endpoint_key text not null generated always as (endpoint || case
        when position('maxReceivesPerSecond' in coalesce(subscription_policy, '') || coalesce(topic_policy, '')) > 0
        then ' ' || coalesce(subscription_arn, '') else '' end) stored,
    last_status int,                -- null: no answer came
    last_error text,
    waits_for text,
    outgoing_id bigint
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index outgoing_delivery_due on queue.outgoing_delivery (due_at, delivery_id) where state = 'pending' and not waiting;
create index outgoing_delivery_account_due on queue.outgoing_delivery (account_id, due_at, delivery_id) where state = 'pending' and not waiting;
create index outgoing_delivery_waits_for on queue.outgoing_delivery (waits_for, due_at, delivery_id) where state = 'pending' and waiting;
create index outgoing_delivery_exhausted on queue.outgoing_delivery (account_id, delivery_id) where state = 'exhausted';
create index outgoing_delivery_notice on queue.outgoing_delivery (notice_id);
comment on table queue.outgoing_delivery is 'Deliveries under way and given up; one that succeeded is deleted.';
comment on column queue.outgoing_delivery.waits_for is 'While it waits: the row of queue.delivery_endpoint that it waits for.';
comment on column queue.outgoing_delivery.outgoing_id is 'The outgoing message that it carries.';

-- Deliveries that may not be sent now wait for their host or for their endpoint, either of one account. A healthy endpoint, a
-- host with few requests, has no row.
create table queue.delivery_endpoint (
    endpoint_key text primary key,
    account_id text not null,
    host text not null,
    next_at timestamptz not null,   -- the worker then checks whether a waiting delivery may be sent
    failures int not null default 0, -- attempts that failed in a row
    pauses int not null default 0,  -- in a row, without an answer in between
    paused_until timestamptz,       -- not null: paused, and from then on one delivery at a time may try
    probe bigint,                   -- the delivery that tries
    paced_at timestamptz not null default '-infinity', -- throttled: up to then its rate is used up
    stopped boolean not null default false
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);
create index delivery_endpoint_next_at on queue.delivery_endpoint (next_at);
create index delivery_endpoint_account_next_at on queue.delivery_endpoint (account_id, next_at);
create index delivery_endpoint_paused on queue.delivery_endpoint (host) where paused_until is not null;
comment on table queue.delivery_endpoint is
    'Hosts with too many requests under way, and endpoints that fail or are throttled, each of one account.';
comment on column queue.delivery_endpoint.host is 'Account, host and port (queue.delivery_host); the row of a host itself has it as endpoint_key.';
comment on column queue.delivery_endpoint.stopped is 'Somebody paused it: it stays paused until somebody resumes it.';

-- Accounts with more deliveries than QUOTA_DELIVERIES, as last counted: they publish none until fewer wait.
create table queue.outgoing_delivery_excess (
    account_id text primary key,
    waiting bigint not null,
    counted_at timestamptz not null
);
comment on table queue.outgoing_delivery_excess is 'Accounts with more deliveries than QUOTA_DELIVERIES.';

-- Outcomes of deliveries: one row for deliveries settled together.
create table queue.outgoing_delivery_history (
    recorded_at timestamptz not null default clock_timestamp(),
    transaction xid8 not null default pg_current_xact_id(),
    outcome text not null,          -- delivered, exhausted, dead_lettered
    published_at timestamptz[] not null,
    attempts int[] not null
) partition by range (recorded_at);
create table queue.outgoing_delivery_history_default partition of queue.outgoing_delivery_history default;
create index outgoing_delivery_history_recorded_at on queue.outgoing_delivery_history using brin (recorded_at);
comment on table queue.outgoing_delivery_history is 'Deliveries that ended at recorded_at, without bodies, for metrics.';


-- The log of attempts to deliver.
create sequence queue.outgoing_delivery_attempt_id;
create table queue.outgoing_delivery_attempt (
    recorded_at timestamptz not null default clock_timestamp(),    -- when its outcome was written
    attempt_id bigint not null default nextval('queue.outgoing_delivery_attempt_id'),
    account_id text not null,
    delivery_id bigint not null,
    message_id uuid not null,
    subscription_arn text,          -- its topic's ARN is a part of it; null: of an event
    endpoint text not null,
    attempt int not null,           -- 1 is the first
    outcome text not null,          -- delivered, retried, given_up
    status int,                     -- null: no answer came
    error text,                     -- null: delivered
    duration_ms int,
    sent_bytes int,                 -- the request, with its head
    answer text                     -- how the answer began, where WEBHOOK_LOG_ANSWERS is on
) partition by range (recorded_at);
alter sequence queue.outgoing_delivery_attempt_id owned by queue.outgoing_delivery_attempt.attempt_id;
create table queue.outgoing_delivery_attempt_default partition of queue.outgoing_delivery_attempt default;
create index outgoing_delivery_attempt_account_id on queue.outgoing_delivery_attempt (account_id, attempt_id);
comment on table queue.outgoing_delivery_attempt is 'The outcome of each attempt to deliver, kept as long as the history of messages.';


-- Event source mappings: queues that trigger functions ----------------------------------------------------------------

create table queue.event_source_mapping (
    mapping_id uuid primary key default gen_random_uuid(),
    account_id text not null,
    region text not null,
    queue_arn text not null,
    function_arn text not null,     -- or the URL that batches are posted to
    user_name text,                 -- its last editor, whose rights it uses; null: the account's root user
    options jsonb not null,         -- members of the API as they were given: BatchSize, FilterCriteria, …
    filters jsonb,                  -- compiled filter policies, any of which a message has to pass; null: no filter
    enabled boolean not null,
    reason text not null default 'USER_INITIATED',          -- why it is in its state
    last_result text not null default 'No records processed',
    tags jsonb not null default '{}',
    updated_at timestamptz not null default clock_timestamp(),
    revision bigint not null default 1,                     -- grows with each change that its poller has to know
    poller_id uuid,                 -- its poller, while that is alive
    invocations bigint not null default 0,
    failed_invocations bigint not null default 0,
    failing_since timestamptz,
    unique (queue_arn, function_arn)
);
create index event_source_mapping_account on queue.event_source_mapping (account_id, region, mapping_id);
create index event_source_mapping_poller on queue.event_source_mapping (poller_id) where enabled;
comment on table queue.event_source_mapping is 'Event source mappings of AWS Lambda: which function gets the messages of which queue.';
comment on column queue.event_source_mapping.failing_since is 'The first of the failed invocations since the last that succeeded; null: the last one did.';

create unlogged table queue.poller (
    poller_id uuid primary key,
    alive_until timestamptz not null
);
comment on table queue.poller is 'Processes that poll for event source mappings. Lost in a crash: then others take over.';


-- Schedules: messages and their times. The worker `fire` sends them ---------------------------------------------------

create sequence queue.schedule_id;

create table queue.schedule (
    schedule_id bigint primary key default nextval('queue.schedule_id'),
    account_id text not null,
    region text not null,
    group_name text not null default 'default',
    name text not null,
    api text not null check (api in ('rest', 'aws')), -- whose rules hold: catch-up or RetryPolicy, pauses, retention
    expression_kind text not null check (expression_kind in ('cron', 'every', 'when', 'fire_at', 'aws_cron', 'rate', 'at')),
    expression text not null,       -- as it was written
    canonical text not null,        -- the form for computing
    timezone text not null,         -- IANA
    anchor_at timestamptz,          -- where a rate counts from
    start_at timestamptz,           -- no occurrence before, …
    end_at timestamptz,             -- … none after
    jitter_seconds int not null default 0,
    window_minutes int,             -- flexible window; null: off
    catchup boolean not null default false,
    catchup_limit int not null default 100,
    failure_threshold int not null default 3,
    overlap text not null default 'allow' check (overlap in ('allow', 'skip')),
    target jsonb not null,          -- {"queue" | "topic", "message", "headers"} or Target of EventBridge Scheduler
    status text not null default 'active' check (status in ('active', 'paused')),
    next_fire_at timestamptz,       -- the next occurrence; null after the last
    due_at timestamptz,             -- when it is fired: moved by jitter or window, later after a failure
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

-- Groups of EventBridge Scheduler. The group `default` is there without a row, too.
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

-- The outcome of each occurrence. The unique index lets an occurrence fire only once.
create table queue.schedule_run (
    run_id bigint generated always as identity primary key,
    schedule_id bigint not null,
    scheduled_for timestamptz not null,
    out_of_band boolean not null default false, -- "run now"
    attempts int not null default 1,
    fired_at timestamptz,           -- null: not yet, or never
    message_ids jsonb not null default '[]', -- [{"queue_name", "msg_id"}]; null ids: sent to a topic of SNS
    error text,                     -- of the last attempt; why it was skipped
    recorded_at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create unique index schedule_run_once on queue.schedule_run (schedule_id, scheduled_for) where not out_of_band;
create index schedule_run_schedule on queue.schedule_run (schedule_id, run_id);
create index schedule_run_recorded_at on queue.schedule_run (recorded_at);

-- Invocations of EventBridge Scheduler that failed and are tried again. They go on when their schedule is over.
create table queue.schedule_retry (
    retry_id bigint generated always as identity primary key,
    schedule_id bigint not null,
    account_id text not null,
    region text not null,
    group_name text not null,
    name text not null,
    target jsonb not null,
    scheduled_for timestamptz not null,
    retries int not null default 0, -- made so far, the first attempt not counted
    expires_at timestamptz not null, -- MaximumEventAgeInSeconds
    due_at timestamptz not null,
    error_code text not null,       -- of the last attempt
    error text not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index schedule_retry_due on queue.schedule_retry (due_at, retry_id);
create index schedule_retry_account_due on queue.schedule_retry (account_id, due_at, retry_id);
create index schedule_retry_schedule on queue.schedule_retry (schedule_id);

-- Deletions with a ClientToken of EventBridge Scheduler: the same request succeeds again, for a day.
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

-- How many times schedules of an account fired in the last seconds, a row a batch and account, for QUOTA_FIRINGS_PER_SECOND.
-- Rows are only added, so no transaction waits for another. Unlogged: without it an account may fire once more.
create unlogged table queue.recent_firing (
    account_id text not null,
    fired_at timestamptz not null default clock_timestamp(),
    number int not null
);
create index recent_firing_account on queue.recent_firing (account_id, fired_at);
comment on table queue.recent_firing is 'Firings of the last seconds, by account.';


-- Access and keys ----------------------------------------------------------------------------------------------------

-- Users of an account, and what their keys may do. A key without a user belongs to the account, and may do everything.
create table queue.account_user (
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    name text not null check (name ~ '^[A-Za-z0-9_+=,.@-]{1,64}$'),     -- as in IAM
    policies text[] not null,       -- names of built-in ones, or IAM's JSON
    created_at timestamptz not null default clock_timestamp(),
    primary key (account_id, name)
);
comment on table queue.account_user is 'Users of accounts, and the policies that say what they may do.';

-- The keys of callers (QUEUE_ACCESS): access keys sign requests of AWS's APIs, requests of the REST API carry bearer
-- keys. A key belongs to an account. A revoked one is kept, so that its id is never used again and its history can be
-- read.
create table queue.access_key (
    access_key_id text primary key,
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    sealed_secret bytea not null,   -- AES-256-GCM under QUEUE_ENCRYPTION_KEY: signatures need the secret itself
    description text not null default '',
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    user_name text,
    expires_at timestamptz,
    last_used_at timestamptz,
    foreign key (account_id, user_name) references queue.account_user
);
comment on table queue.access_key is 'Keys that sign requests of the SQS API (Signature Version 4); secrets are encrypted.';
comment on column queue.access_key.user_name is 'Whose key it is; null: the account''s own.';
comment on column queue.access_key.last_used_at is 'To within a minute.';

create table queue.bearer_key (
    key_id text primary key,
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    secret_hash bytea not null,     -- SHA-256 of 30 random bytes in base64url: nothing that could be guessed
    description text not null default '',
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    user_name text,
    expires_at timestamptz,
    last_used_at timestamptz,
    foreign key (account_id, user_name) references queue.account_user
);
comment on table queue.bearer_key is 'Keys of the REST API; only hashes of their secrets are stored.';

-- What signs the messages of SNS.
create table queue.signing_key (
    key_id text primary key check (key_id ~ '^[0-9a-f]{32}$'),
    created_at timestamptz not null default clock_timestamp(),
    retired_at timestamptz,         -- when a newer one took over; its certificate is served 30 days longer
    sealed boolean not null,        -- the private key is encrypted with QUEUE_ENCRYPTION_KEY
    private_key bytea not null,
    certificate text not null
);

create table queue.secret (
    name text primary key,
    value bytea not null,
    created_at timestamptz not null default now()
);
comment on table queue.secret is 'Keys that every process and function must share, such as the one that seals receipt handles.';


-- Whom the database roles of applications stand for in the SQL interface.

create table queue.role_account (
    role_name name primary key,     -- of a login role, or of a group that login roles inherit from
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    region text not null check (region ~ '^[a-z0-9-]{1,32}$'),
    created_at timestamptz not null default clock_timestamp()
);
comment on table queue.role_account is 'Which account, and which region, a database role stands for in the SQL interface.';


-- The console: its sessions, and the audit of actions -----------------------------------------------------------------

create table queue.console_session (
    session_id text primary key,            -- SHA-256 of the cookie, in hexadecimal
    kind text not null check (kind in ('access', 'bearer')),
    key_id text not null,                   -- of that kind; the session ends when the key does
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null
);
create index console_session_expires_at on queue.console_session (expires_at);
create index console_session_key_id on queue.console_session (key_id);
comment on table queue.console_session is 'Browsers that are signed in to the console, each with the key that it signed in with.';

create table queue.audit (
    audit_id bigint primary key generated always as identity,
    happened_at timestamptz not null default clock_timestamp(),
    account_id text not null,
    actor text not null,                    -- ARN of the user or of the account''s root
    key_id text,                            -- null: the service required no key
    address text not null,                  -- where the request came from; empty where it is not known
    action text not null,                   -- as policies name it, such as sqs:PurgeQueue
    target text not null,                   -- of what: a queue''s name, a schedule''s, the id of a delivery
    filter jsonb not null default '{}',     -- which of it: ids, a filter, changed attributes
    affected bigint,                        -- how many; null: not known, or the action is under way or failed
    error text,                             -- why it failed
    settled_at timestamptz                  -- when its outcome was known; null: under way, or its process ended before
);
create index audit_account_id on queue.audit (account_id, audit_id);
create index audit_happened_at on queue.audit (happened_at);
comment on table queue.audit is 'What people did, a row an action, kept for 400 days. Rows are added before the action begins.';


-- Metrics ------------------------------------------------------------------------------------------------------------

create unlogged table queue.activity (
    queue_id int not null,
    happened_at timestamptz not null default clock_timestamp(),
    sent int not null default 0,
    received int not null default 0,
    redelivered int not null default 0,
    deleted int not null default 0,
    dead_lettered int not null default 0
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
comment on table queue.activity is
    'Effects of calls on queues, a row a call and queue, until the worker measure adds it to queue.minute. A crash of the '
    'server empties it: counts of its last seconds are lost, messages are not.';

create table queue.minute (
    queue_id int not null,
    starts_at timestamptz not null,         -- a full minute, UTC
    sent bigint not null default 0,         -- what entered the queue: sent, dead-lettered into it, moved into it
    received bigint not null default 0,     -- deliveries, redeliveries among them
    redelivered bigint not null default 0,  -- of these, those of messages that had been delivered before
    deleted bigint not null default 0,
    dead_lettered bigint not null default 0, -- left for the dead-letter queue
    visible bigint,                         -- the last measurement in this minute; null without one
    in_flight bigint,
    delayed bigint,
    oldest_at timestamptz,                  -- when the oldest message entered; null: empty, or not measured
    last_received_at timestamptz,           -- the last receive that returned a message, in this minute or before
    primary key (queue_id, starts_at)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index minute_starts_at on queue.minute (starts_at);
comment on table queue.minute is
    'What happened in a queue in a minute, and what it held at last, for 25 hours. A minute without a row: nothing happened, '
    'and the queue holds what it held before.';

-- Results of the metrics job. Windows are [starts_at, ends_at), durations are microseconds. docs/metrics.md. A day is one of
-- a time zone: days of several zones are stored beside each other. Windows of a minute and of an hour are of no zone: ''.
create table queue.metrics_window (
    window_seconds int not null check (window_seconds in (60, 3600, 86400)), -- 86400: a calendar day, 23 to 25 hours
    queue_id int not null,
    group_id text not null default '',  -- '': the whole queue
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
    depth bigint not null,          -- sent before ends_at and not finished then
    waiting bigint not null,        -- of these: never received before ends_at
    received bigint not null,       -- of these: the others, in flight or back again
    oldest_age_us bigint,           -- at ends_at; null: the queue is empty
    visible bigint,                 -- these three are measured, in the window that the run happened in
    in_flight bigint,
    delayed bigint,
    groups int,                     -- distinct groups with arrivals
    top_group_share double precision,
    gini double precision,
    computed_at timestamptz not null default clock_timestamp(),
    zone text not null default '',
    primary key (window_seconds, queue_id, group_id, starts_at, zone)
);
create index metrics_window_starts_at on queue.metrics_window (window_seconds, starts_at);
comment on table queue.metrics_window is 'What happened in a queue (or in a group of it) in a window of time.';

create table queue.metrics_latency (
    window_seconds int not null check (window_seconds in (60, 3600, 86400)),
    queue_id int not null,          -- 0: fire, delivery
    group_id text not null default '',
    measure text not null check (measure in ('wait', 'processing', 'lag', 'fire', 'delivery')),
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    count bigint not null,
    sum_us numeric not null,
    p50_us bigint not null,         -- exact, nearest rank
    p90_us bigint not null,
    p95_us bigint not null,
    p99_us bigint not null,
    max_us bigint not null,
    sketch_buckets int[] not null,  -- DDSketch: bucket i holds (g^(i-1), g^i] microseconds, g = 1.02/0.98
    sketch_counts bigint[] not null,
    negative_count bigint not null default 0, -- durations below 0, of clocks that differ: they count as 0
    computed_at timestamptz not null default clock_timestamp(),
    zone text not null default '',
    primary key (window_seconds, queue_id, group_id, measure, starts_at, zone)
);
create index metrics_latency_starts_at on queue.metrics_latency (window_seconds, starts_at);
comment on table queue.metrics_latency is 'How long it took: exact within a window, sketches to merge windows.';

create table queue.metrics_forecast (
    queue_id int primary key,
    computed_at timestamptz not null default clock_timestamp(),
    arrival_rate double precision not null,
    drain_rate double precision not null,
    backlog bigint not null,
    drain_seconds double precision, -- at the current net rate; null: never
    forecast_at timestamptz[],      -- these four are null where no method is better than "it stays as it is"
    forecast double precision[],
    forecast_low double precision[],
    forecast_high double precision[],
    method text,                    -- docs/metrics.md names them
    reason text check (reason in ('too_little_past', 'no_method_beats_unchanged',
        'intervals_do_not_hold')),  -- why the forecast is missing
    interval_level double precision,    -- 0.8: so many of such intervals should hold the actual depth
    interval_coverage double precision, -- so many did, in the backtest
    mean_error double precision,    -- messages: the mean absolute error in the backtest
    unchanged_error double precision,   -- likewise, of "it stays as it is"
    backtests int,                  -- how many forecasts of the past were compared
    -- retention_seconds: until messages are deleted unread; fastest_rate, mean_rate: the best hour drains less than arrives
    warnings jsonb not null default '{}'
);
comment on table queue.metrics_forecast is 'How long a queue takes to drain, and its backlog over the next hour.';
comment on column queue.metrics_forecast.arrival_rate is
    'Messages a second, over the last 15 complete minutes, or the life of a younger queue.';

create table queue.metrics_run (
    run_id bigint generated always as identity primary key,
    mode text not null check (mode in ('once', 'continuous')),
    started_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    from_at timestamptz,
    to_at timestamptz,
    recorded_below xid8,            -- what later transactions recorded is left to the next run
    rows_read bigint not null default 0,
    rows_written bigint not null default 0,
    error text,
    zone text,                      -- whose days it computed
    recorded_from pg_snapshot,      -- with recorded_to: it handled what the second snapshot sees and the first does not;
    recorded_to pg_snapshot         -- null: it was asked for a span of time, or handled everything
);
comment on table queue.metrics_run is 'Runs of the metrics job: what they covered, how far they came.';
comment on column queue.metrics_run.rows_written is
    'Rows that were added, changed or removed: a row that is computed again and found equal does not count.';

create table queue.metrics_range (
    zone text primary key,
    run_id bigint not null,                 -- the last run that handled what was recorded since its predecessor
    handled pg_snapshot not null,           -- what this snapshot sees is in the windows
    handled_at timestamptz not null         -- its time
);
comment on table queue.metrics_range is
    'Which recorded rows the windows of a zone contain: the next run begins where this range ends. Runs over a span that '
    'was asked for (--from, --to) leave it as it is.';

create table queue.metrics_open (
    zone text not null,
    queue_id int not null,
    minute_at timestamptz not null,
    run_id bigint not null,                 -- that stored it; greater than that of metrics_range: it did not finish
    counts bigint[] not null,
    primary key (zone, queue_id, minute_at, run_id)
);
comment on table queue.metrics_open is
    'What messages that had not been recorded in the history contributed to the minutes of their queue, as the last run of '
    'the zone counted them. The next run subtracts it, and so sees what is new.';

-- What /metrics tells of the whole installation: one process at a time measures it, all of them read it. Autovacuum comes
-- for these tables of some hundred rows at 2,000 dead rows: workers rewrite them all the time, and dead versions are
-- pruned in their pages, as long as these have room.

-- The last measurement of a queue, and the outcomes of its messages since it was created.
create table queue.measurement (
    queue_id int primary key,
    measured_at timestamptz not null,
    visible bigint not null,
    in_flight bigint not null,
    delayed bigint not null,
    oldest_at timestamptz,          -- when the oldest message was sent; null: the queue is empty
    noisy_groups int not null,      -- tenants that are set back
    dead_lettered bigint not null   -- moved to the dead-letter queue, ever
) with (autovacuum_vacuum_scale_factor = 0.02, fillfactor = 50, autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_threshold = 2000);
comment on table queue.measurement is 'Gauges of queues for /metrics; rewritten every few seconds.';

-- Gauges that belong to no queue: a name, and a label if the name has several values.
create table queue.reading (
    name text not null,
    label text not null default '',
    value double precision not null,
    primary key (name, label)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);
comment on table queue.reading is 'Gauges of the installation for /metrics; rewritten every few seconds.';


-- Workers ------------------------------------------------------------------------------------------------------------

-- Where a bounded worker goes on in its next run.
create table queue.worker_position (
    worker text primary key,
    position bigint not null,
    ran_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);


-- Compression --------------------------------------------------------------------------------------------------------

-- Texts of over 2 KB are compressed by lz4 where the server was built with it: a MB of JSON costs pglz 25 ms of CPU, and lz4
-- nothing that could be measured.
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
            ('notice', 'raw'), ('notice', 'head'), ('notice', 'attributes')) c (table_name, name)
    loop
        execute format('alter table queue.%I alter column %I set compression lz4', v_column.table_name, v_column.name);
    end loop;
end $$;
