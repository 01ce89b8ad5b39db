-- What /metrics tells of the whole installation: measured by one process at a time, read by all of them.

-- How much a queue held when it was last measured, and what became of its messages since it was made.
create table queue.measurement (
    queue_id int primary key,
    measured_at timestamptz not null,
    visible bigint not null,
    in_flight bigint not null,
    delayed bigint not null,
    oldest_at timestamptz,          -- when the oldest message was sent; null: there is none
    noisy_groups int not null,      -- tenants that are set back
    dead_lettered bigint not null   -- moved to the dead-letter queue, ever
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
comment on table queue.measurement is 'Gauges of queues for /metrics; rewritten every few seconds.';

-- Moves to dead-letter queues that are not in queue.measurement yet. Rows are only added and, by the next measurement,
-- added up: nobody who moves messages waits for somebody else.
create table queue.dead_letter_count (
    queue_id int not null,          -- the queue that the messages left
    messages bigint not null
);
create index dead_letter_count_queue on queue.dead_letter_count (queue_id);

-- What belongs to no queue: a name, and where it has several values a label.
create table queue.reading (
    name text not null,
    label text not null default '',
    value double precision not null,
    primary key (name, label)
) with (fillfactor = 50);
comment on table queue.reading is 'Gauges of the installation for /metrics; rewritten every few seconds.';
