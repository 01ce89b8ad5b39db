-- Schedules: what is to be sent when. Worked on by `fire`.

create sequence queue.schedule_id;

create table queue.schedule (
    schedule_id bigint primary key default nextval('queue.schedule_id'),
    account_id text not null,
    region text not null,
    group_name text not null default 'default',
    name text not null,
    door text not null check (door in ('native', 'aws')), -- whose rules hold: catch-up or RetryPolicy, pauses, what stays
    form text not null check (form in ('cron', 'every', 'when', 'fire_at', 'aws_cron', 'rate', 'at')),
    expression text not null,       -- as it was written
    canonical text not null,        -- what is computed with
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
    next_fire_at timestamptz,       -- the next occurrence; null: there is none
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

-- What became of each occurrence. The unique index is what lets an occurrence fire once only.
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
create index schedule_retry_schedule on queue.schedule_retry (schedule_id);
