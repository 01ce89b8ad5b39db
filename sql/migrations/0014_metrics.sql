-- What the metrics job reads, beyond what there was: groups of standard queues, webhooks that are done, and which
-- transaction recorded a row; and where it writes.

-- The transaction lets a reader stop below pg_snapshot_xmin: what commits later than it was recorded is not missed.
-- Rows from before get the number of this migration's transaction; no table is rewritten.
alter table queue.history
    add column group_ids text[],    -- a group a message, in the order of sent_at; null: all are of group_id, or of none
    add column transaction xid8 not null default pg_current_xact_id();
-- Partitions made from now on have it; those of before are read whole, so that no lock is held while it is built.
create index history_recorded_at on only queue.history using brin (recorded_at);
create index history_default_recorded_at on queue.history_default using brin (recorded_at);
alter index queue.history_recorded_at attach partition queue.history_default_recorded_at;

-- What became of webhooks: one row for those settled together.
create table queue.webhook_history (
    recorded_at timestamptz not null default clock_timestamp(),
    transaction xid8 not null default pg_current_xact_id(),
    outcome text not null,          -- delivered, exhausted, dead_lettered
    published_at timestamptz[] not null,
    attempts int[] not null
) partition by range (recorded_at);
create table queue.webhook_history_default partition of queue.webhook_history default;
create index webhook_history_recorded_at on queue.webhook_history using brin (recorded_at);
comment on table queue.webhook_history is 'Deliveries to URLs that ended at recorded_at, without bodies, for metrics.';

-- Results of the metrics job. Windows are [starts_at, ends_at), durations are microseconds. docs/metrics.md.
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
    oldest_age_us bigint,           -- at ends_at; null: there is none
    visible bigint,                 -- these three are measured, in the window that the run happened in
    in_flight bigint,
    delayed bigint,
    groups int,                     -- distinct groups with arrivals
    top_group_share double precision,
    gini double precision,
    computed_at timestamptz not null default clock_timestamp(),
    primary key (window_seconds, queue_id, group_id, starts_at)
);
create index metrics_window_starts_at on queue.metrics_window (window_seconds, starts_at);
comment on table queue.metrics_window is 'What happened in a queue (or in a group of it) in a window of time.';

create table queue.metrics_latency (
    window_seconds int not null check (window_seconds in (60, 3600, 86400)),
    queue_id int not null,          -- 0: fire, webhook
    group_id text not null default '',
    measure text not null check (measure in ('wait', 'processing', 'lag', 'fire', 'webhook')),
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
    primary key (window_seconds, queue_id, group_id, measure, starts_at)
);
create index metrics_latency_starts_at on queue.metrics_latency (window_seconds, starts_at);
comment on table queue.metrics_latency is 'How long it took: exact within a window, sketches to merge windows.';

create table queue.metrics_forecast (
    queue_id int primary key,
    computed_at timestamptz not null default clock_timestamp(),
    arrival_rate double precision not null, -- messages a second, over the last hour of complete minutes
    drain_rate double precision not null,
    backlog bigint not null,
    drain_seconds double precision, -- at the current net rate; null: never
    forecast_at timestamptz[] not null,
    forecast double precision[] not null,
    forecast_low double precision[] not null,
    forecast_high double precision[] not null
);
comment on table queue.metrics_forecast is 'How long a queue takes to drain, and its backlog over the next hour.';

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
    error text
);
comment on table queue.metrics_run is 'Runs of the metrics job: what they covered, how far they came.';
