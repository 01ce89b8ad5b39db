-- What happened in a queue is kept by the minute, for 25 hours.
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
    'What calls did to queues, a row a call and queue, until the worker measure adds it to queue.minute. A crash of the '
    'server empties it: counts of its last seconds are lost, messages are not.';

create table queue.minute (
    queue_id int not null,
    starts_at timestamptz not null,         -- a full minute, UTC
    sent bigint not null default 0,         -- what entered the queue: sent, dead-lettered into it, moved into it
    received bigint not null default 0,     -- deliveries, redeliveries among them
    redelivered bigint not null default 0,  -- of these, those of messages that had been delivered before
    deleted bigint not null default 0,
    dead_lettered bigint not null default 0, -- left for the dead-letter queue
    visible bigint,                         -- what was there when the minute was last measured; null: not measured in it
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
