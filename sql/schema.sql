-- The schema that sql/migrations and sql/functions lead to. For reading and comparing, not for loading.
-- Written by `make generate`.

create table queue.access_key (
    access_key_id text not null,
    account_id text not null,
    sealed_secret bytea not null,
    description text not null default ''::text,
    created_at timestamp with time zone not null default now(),
    revoked_at timestamp with time zone,
    user_name text,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    constraint access_key_pkey PRIMARY KEY (access_key_id),
    constraint access_key_account_id_check CHECK ((account_id ~ '^[0-9]{12}$'::text)),
    constraint access_key_account_id_user_name_fkey FOREIGN KEY (account_id, user_name) REFERENCES queue.account_user(account_id, name)
);

create table queue.account_user (
    account_id text not null,
    name text not null,
    policies text[] not null,
    created_at timestamp with time zone not null default clock_timestamp(),
    constraint account_user_pkey PRIMARY KEY (account_id, name),
    constraint account_user_account_id_check CHECK ((account_id ~ '^[0-9]{12}$'::text)),
    constraint account_user_name_check CHECK ((name ~ '^[A-Za-z0-9_+=,.@-]{1,64}$'::text))
);

create unlogged table queue.activity (
    queue_id integer not null,
    happened_at timestamp with time zone not null default clock_timestamp(),
    sent integer not null default 0,
    received integer not null default 0,
    redelivered integer not null default 0,
    deleted integer not null default 0,
    dead_lettered integer not null default 0
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0);

create table queue.archive (
    archive_id bigint not null generated always as identity,
    queue_id integer not null,
    public_id bigint not null,
    message_id uuid not null,
    sent_at timestamp with time zone not null,
    archived_at timestamp with time zone not null default clock_timestamp(),
    receive_count integer not null,
    body text not null,
    attributes jsonb,
    system jsonb,
    constraint archive_pkey PRIMARY KEY (archive_id)
);
CREATE INDEX archive_queue ON queue.archive USING btree (queue_id, archive_id);

create table queue.audit (
    audit_id bigint not null generated always as identity,
    happened_at timestamp with time zone not null default clock_timestamp(),
    account_id text not null,
    actor text not null,
    key_id text,
    address text not null,
    action text not null,
    target text not null,
    filter jsonb not null default '{}'::jsonb,
    affected bigint,
    error text,
    settled_at timestamp with time zone,
    constraint audit_pkey PRIMARY KEY (audit_id)
);
CREATE INDEX audit_account_id ON queue.audit USING btree (account_id, audit_id);
CREATE INDEX audit_happened_at ON queue.audit USING btree (happened_at);

create table queue.bearer_key (
    key_id text not null,
    account_id text not null,
    secret_hash bytea not null,
    description text not null default ''::text,
    created_at timestamp with time zone not null default now(),
    revoked_at timestamp with time zone,
    user_name text,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    constraint bearer_key_pkey PRIMARY KEY (key_id),
    constraint bearer_key_account_id_check CHECK ((account_id ~ '^[0-9]{12}$'::text)),
    constraint bearer_key_account_id_user_name_fkey FOREIGN KEY (account_id, user_name) REFERENCES queue.account_user(account_id, name)
);

create table queue.binding (
    binding_id bigint not null generated always as identity,
    account_id text not null,
    region text not null,
    pattern text not null,
    segments text[] not null generated always as (string_to_array(pattern, '.'::text)) stored,
    literal boolean not null generated always as (((POSITION(('*'::text) IN (pattern)) + POSITION(('#'::text) IN (pattern))) = 0)) stored,
    protocol text not null,
    endpoint text not null,
    envelope boolean not null default false,
    filter jsonb,
    filter_policy text,
    created_at timestamp with time zone not null default clock_timestamp(),
    constraint binding_pkey PRIMARY KEY (binding_id),
    constraint binding_account_id_region_pattern_protocol_endpoint_key UNIQUE (account_id, region, pattern, protocol, endpoint)
);
CREATE INDEX binding_endpoint ON queue.binding USING btree (endpoint);
CREATE INDEX binding_wildcard ON queue.binding USING btree (account_id, region) WHERE (NOT literal);

create table queue.confirmation_mail (
    confirmation_id bigint not null generated always as identity,
    account_id text not null,
    address text not null,
    due_at timestamp with time zone not null,
    constraint confirmation_mail_pkey PRIMARY KEY (confirmation_id)
);
CREATE INDEX confirmation_mail_account ON queue.confirmation_mail USING btree (account_id, due_at);
CREATE INDEX confirmation_mail_address ON queue.confirmation_mail USING btree (address, due_at);

create table queue.console_session (
    session_id text not null,
    kind text not null,
    key_id text not null,
    created_at timestamp with time zone not null default clock_timestamp(),
    expires_at timestamp with time zone not null,
    constraint console_session_pkey PRIMARY KEY (session_id),
    constraint console_session_kind_check CHECK ((kind = ANY (ARRAY['access'::text, 'bearer'::text])))
);
CREATE INDEX console_session_expires_at ON queue.console_session USING btree (expires_at);
CREATE INDEX console_session_key_id ON queue.console_session USING btree (key_id);

create table queue.dead_letter_count (
    queue_id integer not null,
    messages bigint not null
);
CREATE INDEX dead_letter_count_queue ON queue.dead_letter_count USING btree (queue_id);

create table queue.deduplication (
    queue_id integer not null,
    scope text not null,
    deduplication_id text not null,
    message_id uuid not null,
    id bigint not null,
    expires_at timestamp with time zone not null,
    constraint deduplication_pkey PRIMARY KEY (queue_id, scope, deduplication_id)
) with (autovacuum_vacuum_threshold=0, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_cost_delay=0, vacuum_index_cleanup=on);
CREATE INDEX deduplication_expires_at ON queue.deduplication USING btree (expires_at);

create table queue.deferred (
    queue_id integer not null,
    group_id text not null,
    deferred_at timestamp with time zone not null,
    shard smallint not null,
    pos bigint not null,
    ids bigint[] not null,
    constraint deferred_pkey PRIMARY KEY (queue_id, group_id, deferred_at, shard, pos)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

create table queue.dropped_platform_application (
    application_id integer not null,
    account_id text not null,
    dropped_at timestamp with time zone not null default clock_timestamp(),
    constraint dropped_platform_application_pkey PRIMARY KEY (application_id)
);

create table queue.dropped_queue (
    queue_id integer not null,
    arn text not null,
    dropped_at timestamp with time zone not null default clock_timestamp(),
    cleaned_at timestamp with time zone,
    constraint dropped_queue_pkey PRIMARY KEY (queue_id)
);
CREATE INDEX dropped_queue_arn ON queue.dropped_queue USING btree (arn, dropped_at);
CREATE INDEX dropped_queue_not_cleaned ON queue.dropped_queue USING btree (queue_id) WHERE (cleaned_at IS NULL);

create table queue.event_source_mapping (
    mapping_id uuid not null default gen_random_uuid(),
    account_id text not null,
    region text not null,
    queue_arn text not null,
    function_arn text not null,
    user_name text,
    options jsonb not null,
    filters jsonb,
    enabled boolean not null,
    reason text not null default 'USER_INITIATED'::text,
    last_result text not null default 'No records processed'::text,
    tags jsonb not null default '{}'::jsonb,
    updated_at timestamp with time zone not null default clock_timestamp(),
    revision bigint not null default 1,
    poller_id uuid,
    invocations bigint not null default 0,
    failed_invocations bigint not null default 0,
    failing_since timestamp with time zone,
    constraint event_source_mapping_pkey PRIMARY KEY (mapping_id),
    constraint event_source_mapping_queue_arn_function_arn_key UNIQUE (queue_arn, function_arn)
);
CREATE INDEX event_source_mapping_account ON queue.event_source_mapping USING btree (account_id, region, mapping_id);
CREATE INDEX event_source_mapping_poller ON queue.event_source_mapping USING btree (poller_id) WHERE enabled;

create table queue.fifo_group (
    group_key bigint not null generated always as identity,
    queue_id integer not null,
    group_id text not null,
    constraint fifo_group_pkey PRIMARY KEY (group_key),
    constraint fifo_group_queue_id_group_id_key UNIQUE (queue_id, group_id)
) with (fillfactor=60, autovacuum_vacuum_threshold=0, autovacuum_vacuum_scale_factor=0.05, vacuum_index_cleanup=on);

create table queue.fifo_message (
    id bigint not null,
    group_key bigint not null,
    visible_at timestamp with time zone not null,
    sent_at timestamp with time zone not null,
    first_received_at timestamp with time zone,
    message_id uuid not null,
    queue_id integer not null,
    receive_count integer not null default 0,
    deduplication_id text not null,
    body text not null,
    attributes jsonb,
    system jsonb,
    answer_bytes jsonb,
    redelivered_at timestamp with time zone[],
    constraint fifo_message_pkey PRIMARY KEY (id)
) with (fillfactor=75, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_threshold=0, vacuum_index_cleanup=on);
CREATE INDEX fifo_message_of_group ON queue.fifo_message USING btree (group_key, id) WHERE (group_key > 0);

create table queue.fifo_ready (
    version bigint not null generated always as identity,
    group_key bigint not null,
    visible_at timestamp with time zone not null,
    changed_at timestamp with time zone not null default clock_timestamp(),
    first_id bigint not null,
    queue_id integer not null,
    constraint fifo_ready_pkey PRIMARY KEY (group_key, version)
) with (autovacuum_vacuum_threshold=0, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_cost_delay=0, vacuum_index_cleanup=on);
CREATE INDEX fifo_ready_visible_at ON queue.fifo_ready USING btree (queue.time_key(queue_id, '-2'::integer), visible_at);

create unlogged table queue.fifo_search (
    queue_id integer not null,
    searched_at timestamp with time zone not null,
    visible_at timestamp with time zone not null,
    late_at timestamp with time zone not null,
    late_visible_at timestamp with time zone not null,
    full_due_at timestamp with time zone not null,
    full_took interval not null,
    constraint fifo_search_pkey PRIMARY KEY (queue_id, searched_at)
);

create view queue.finished_delivery as (
    published_at timestamp with time zone,
    finished_at timestamp with time zone,
    attempts integer,
    outcome text,
    recorded_at timestamp with time zone,
    transaction xid8
);

create view queue.finished_message as (
    queue_id integer,
    group_id text,
    sent_at timestamp with time zone,
    first_received_at timestamp with time zone,
    finished_at timestamp with time zone,
    receive_count integer,
    outcome text,
    recorded_at timestamp with time zone,
    transaction xid8,
    entered_at timestamp with time zone,
    entered_by text,
    redelivered_at timestamp with time zone[]
);

create table queue.former_subscription (
    topic_id integer not null,
    protocol text not null,
    endpoint text not null,
    subscription jsonb not null,
    token text not null,
    expires_at timestamp with time zone not null,
    constraint former_subscription_pkey PRIMARY KEY (topic_id, protocol, endpoint),
    constraint former_subscription_token_key UNIQUE (token),
    constraint former_subscription_topic_id_fkey FOREIGN KEY (topic_id) REFERENCES queue.topic(topic_id) ON DELETE CASCADE
);
CREATE INDEX former_subscription_expires_at ON queue.former_subscription USING btree (expires_at);

create table queue.history (
    recorded_at timestamp with time zone not null default clock_timestamp(),
    first_received_at timestamp with time zone,
    queue_id integer not null,
    receive_count integer not null,
    outcome text not null,
    group_id text,
    sent_at timestamp with time zone[] not null,
    finished_at timestamp with time zone[] not null,
    group_ids text[],
    transaction xid8 not null default pg_current_xact_id(),
    entered_at timestamp with time zone[],
    entered_by text,
    redelivered_at timestamp with time zone[]
) partition by RANGE (recorded_at);
CREATE INDEX history_queue ON ONLY queue.history USING btree (queue_id, recorded_at);
CREATE INDEX history_recorded_at ON ONLY queue.history USING brin (recorded_at);

create table queue.history_default partition of queue.history DEFAULT;

create table queue.history_drop (
    name text not null,
    dropped_before timestamp with time zone not null,
    constraint history_drop_pkey PRIMARY KEY (name)
);

create table queue.hole (
    queue_id integer not null,
    shard smallint not null,
    id bigint not null,
    constraint hole_pkey PRIMARY KEY (queue_id, shard, id)
);

create table queue.id_jump (
    queue_id integer not null,
    shard smallint not null,
    first_id bigint not null,
    last_id bigint not null,
    constraint id_jump_pkey PRIMARY KEY (queue_id, shard, last_id)
);

create unlogged table queue.in_flight (
    queue_id integer not null,
    messages bigint not null,
    good_until timestamp with time zone not null,
    constraint in_flight_pkey PRIMARY KEY (queue_id)
);

create table queue.lane (
    lane text not null,
    account_id text not null,
    host text not null,
    next_at timestamp with time zone not null,
    failures integer not null default 0,
    pauses integer not null default 0,
    paused_until timestamp with time zone,
    probe bigint,
    paced_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
    stopped boolean not null default false,
    constraint lane_pkey PRIMARY KEY (lane)
) with (fillfactor=60, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX lane_account_next_at ON queue.lane USING btree (account_id, next_at);
CREATE INDEX lane_next_at ON queue.lane USING btree (next_at);
CREATE INDEX lane_paused ON queue.lane USING btree (host) WHERE (paused_until IS NOT NULL);

create table queue.late_id_jump (
    queue_id integer not null,
    shard smallint not null,
    constraint late_id_jump_pkey PRIMARY KEY (queue_id, shard)
);

create table queue.lease (
    pos bigint not null,
    first_id bigint not null,
    visible_at timestamp with time zone not null,
    first_received_at timestamp with time zone,
    watermark timestamp with time zone not null,
    low bigint not null,
    queue_id integer not null,
    receive_count integer not null,
    nonce integer not null default (1 + (floor((random() * (2147483647)::double precision)))::integer),
    shard smallint not null,
    ids bigint[] not null,
    gone bigint[],
    gone_at timestamp with time zone[],
    done_at timestamp with time zone,
    outcome text,
    has_tenants boolean,
    redelivered_at timestamp with time zone[],
    constraint lease_pkey PRIMARY KEY (queue_id, shard, pos)
) with (fillfactor=60, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_threshold=0, vacuum_index_cleanup=on);
CREATE INDEX lease_visible_at ON queue.lease USING btree (queue.time_key(queue_id, (shard)::integer), visible_at);

create view queue.live_message as (
    queue_id integer,
    group_id text,
    sent_at timestamp with time zone,
    first_received_at timestamp with time zone,
    finished_at timestamp with time zone,
    receive_count integer,
    outcome text,
    state text,
    visible_at timestamp with time zone,
    entered_at timestamp with time zone,
    entered_by text,
    redelivered_at timestamp with time zone[]
);

create table queue.log (
    id bigint not null,
    sent_at timestamp with time zone not null,
    message_id uuid not null,
    queue_id integer not null,
    shard smallint not null,
    body text not null,
    attributes jsonb,
    system jsonb,
    constraint log_pkey PRIMARY KEY (queue_id, shard, id)
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_threshold=0, vacuum_index_cleanup=on);

create table queue.measurement (
    queue_id integer not null,
    measured_at timestamp with time zone not null,
    visible bigint not null,
    in_flight bigint not null,
    delayed bigint not null,
    oldest_at timestamp with time zone,
    noisy_groups integer not null,
    dead_lettered bigint not null,
    constraint measurement_pkey PRIMARY KEY (queue_id)
) with (autovacuum_vacuum_scale_factor=0.02, fillfactor=50, autovacuum_vacuum_threshold=2000, autovacuum_analyze_threshold=2000);

create table queue.metrics_forecast (
    queue_id integer not null,
    computed_at timestamp with time zone not null default clock_timestamp(),
    arrival_rate double precision not null,
    drain_rate double precision not null,
    backlog bigint not null,
    drain_seconds double precision,
    forecast_at timestamp with time zone[],
    forecast double precision[],
    forecast_low double precision[],
    forecast_high double precision[],
    method text,
    reason text,
    interval_level double precision,
    interval_coverage double precision,
    mean_error double precision,
    unchanged_error double precision,
    backtests integer,
    warnings jsonb not null default '{}'::jsonb,
    constraint metrics_forecast_pkey PRIMARY KEY (queue_id),
    constraint metrics_forecast_reason_check CHECK ((reason = ANY (ARRAY['too_little_past'::text, 'no_method_beats_unchanged'::text, 'intervals_do_not_hold'::text])))
);

create table queue.metrics_latency (
    window_seconds integer not null,
    queue_id integer not null,
    group_id text not null default ''::text,
    measure text not null,
    starts_at timestamp with time zone not null,
    ends_at timestamp with time zone not null,
    count bigint not null,
    sum_us numeric not null,
    p50_us bigint not null,
    p90_us bigint not null,
    p95_us bigint not null,
    p99_us bigint not null,
    max_us bigint not null,
    sketch_buckets integer[] not null,
    sketch_counts bigint[] not null,
    negative_count bigint not null default 0,
    computed_at timestamp with time zone not null default clock_timestamp(),
    zone text not null default ''::text,
    constraint metrics_latency_pkey PRIMARY KEY (window_seconds, queue_id, group_id, measure, starts_at, zone),
    constraint metrics_latency_measure_check CHECK ((measure = ANY (ARRAY['wait'::text, 'processing'::text, 'lag'::text, 'fire'::text, 'delivery'::text]))),
    constraint metrics_latency_window_seconds_check CHECK ((window_seconds = ANY (ARRAY[60, 3600, 86400])))
);
CREATE INDEX metrics_latency_starts_at ON queue.metrics_latency USING btree (window_seconds, starts_at);

create table queue.metrics_open (
    zone text not null,
    queue_id integer not null,
    minute_at timestamp with time zone not null,
    run_id bigint not null,
    counts bigint[] not null,
    constraint metrics_open_pkey PRIMARY KEY (zone, queue_id, minute_at, run_id)
);

create table queue.metrics_range (
    zone text not null,
    run_id bigint not null,
    handled pg_snapshot not null,
    handled_at timestamp with time zone not null,
    constraint metrics_range_pkey PRIMARY KEY (zone)
);

create table queue.metrics_run (
    run_id bigint not null generated always as identity,
    mode text not null,
    started_at timestamp with time zone not null default clock_timestamp(),
    finished_at timestamp with time zone,
    from_at timestamp with time zone,
    to_at timestamp with time zone,
    recorded_below xid8,
    rows_read bigint not null default 0,
    rows_written bigint not null default 0,
    error text,
    zone text,
    recorded_from pg_snapshot,
    recorded_to pg_snapshot,
    constraint metrics_run_pkey PRIMARY KEY (run_id),
    constraint metrics_run_mode_check CHECK ((mode = ANY (ARRAY['once'::text, 'continuous'::text])))
);

create table queue.metrics_window (
    window_seconds integer not null,
    queue_id integer not null,
    group_id text not null default ''::text,
    starts_at timestamp with time zone not null,
    ends_at timestamp with time zone not null,
    arrivals bigint not null,
    deliveries bigint not null,
    redeliveries bigint not null,
    deletions bigint not null,
    dead_lettered bigint not null,
    purged bigint not null,
    expired bigint not null,
    moved bigint not null,
    depth bigint not null,
    waiting bigint not null,
    received bigint not null,
    oldest_age_us bigint,
    visible bigint,
    in_flight bigint,
    delayed bigint,
    groups integer,
    top_group_share double precision,
    gini double precision,
    computed_at timestamp with time zone not null default clock_timestamp(),
    zone text not null default ''::text,
    constraint metrics_window_pkey PRIMARY KEY (window_seconds, queue_id, group_id, starts_at, zone),
    constraint metrics_window_window_seconds_check CHECK ((window_seconds = ANY (ARRAY[60, 3600, 86400])))
);
CREATE INDEX metrics_window_starts_at ON queue.metrics_window USING btree (window_seconds, starts_at);

create table queue.migration (
    number integer not null,
    name text not null,
    checksum text not null,
    applied_at timestamp with time zone not null default clock_timestamp(),
    constraint migration_pkey PRIMARY KEY (number)
);

create table queue.minute (
    queue_id integer not null,
    starts_at timestamp with time zone not null,
    sent bigint not null default 0,
    received bigint not null default 0,
    redelivered bigint not null default 0,
    deleted bigint not null default 0,
    dead_lettered bigint not null default 0,
    visible bigint,
    in_flight bigint,
    delayed bigint,
    oldest_at timestamp with time zone,
    last_received_at timestamp with time zone,
    constraint minute_pkey PRIMARY KEY (queue_id, starts_at)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX minute_starts_at ON queue.minute USING btree (starts_at);

create table queue.move_task (
    task_id uuid not null default gen_random_uuid(),
    queue_id integer not null,
    destination_arn text,
    maximum_per_second integer,
    status text not null default 'RUNNING'::text,
    failure_reason text,
    to_move bigint not null,
    moved bigint not null default 0,
    started_at timestamp with time zone not null default clock_timestamp(),
    paced_at timestamp with time zone not null default clock_timestamp(),
    ids bigint[],
    filter jsonb,
    place text,
    looked_at bigint not null default 0,
    skipped bigint not null default 0,
    canary integer,
    continued_at timestamp with time zone,
    ended_at timestamp with time zone,
    constraint move_task_pkey PRIMARY KEY (task_id),
    constraint move_task_maximum_per_second_check CHECK (((maximum_per_second >= 1) AND (maximum_per_second <= 500))),
    constraint move_task_status_check CHECK ((status = ANY (ARRAY['RUNNING'::text, 'COMPLETED'::text, 'CANCELLED'::text, 'FAILED'::text])))
) with (fillfactor=60);
CREATE INDEX move_task_queue ON queue.move_task USING btree (queue_id, started_at);
CREATE UNIQUE INDEX move_task_running ON queue.move_task USING btree (queue_id) WHERE (status = 'RUNNING'::text);

create table queue.noise (
    queue_id integer not null,
    noisy text[],
    judged_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
    constraint noise_pkey PRIMARY KEY (queue_id)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0.02);

create table queue.notice (
    notice_id bigint not null generated always as identity,
    created_at timestamp with time zone not null default clock_timestamp(),
    kind text not null,
    topic_arn text,
    routing_key text,
    message_id uuid not null,
    raw text not null,
    head text,
    tail text,
    headers jsonb,
    attributes jsonb,
    trace text,
    constraint notice_pkey PRIMARY KEY (notice_id)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);
CREATE INDEX notice_message ON queue.notice USING btree (message_id);

create table queue.opted_out_number (
    account_id text not null,
    region text not null,
    phone_number text not null,
    opted_out boolean not null,
    opted_in_at timestamp with time zone,
    constraint opted_out_number_pkey PRIMARY KEY (account_id, region, phone_number)
);

create table queue.outgoing (
    outgoing_id bigint not null generated always as identity,
    created_at timestamp with time zone not null default clock_timestamp(),
    account_id text not null,
    region text not null,
    protocol text not null,
    kind text not null,
    destination text not null,
    message_id uuid not null,
    topic_arn text,
    subscription_arn text,
    subject text,
    body text not null,
    attributes jsonb,
    state text not null default 'kept'::text,
    error text,
    dead_letter_arn text,
    envelope text,
    unsubscribe_url text,
    constraint outgoing_pkey PRIMARY KEY (outgoing_id),
    constraint outgoing_state_check CHECK ((state = ANY (ARRAY['kept'::text, 'waiting'::text, 'sent'::text, 'failed'::text])))
);
CREATE INDEX outgoing_account ON queue.outgoing USING btree (account_id, outgoing_id);
CREATE INDEX outgoing_kept ON queue.outgoing USING btree (protocol, account_id, created_at) WHERE (state = 'kept'::text);

create table queue.outgoing_delivery (
    delivery_id bigint not null generated always as identity,
    notice_id bigint not null,
    created_at timestamp with time zone not null default clock_timestamp(),
    account_id text not null,
    subscription_arn text,
    binding_id bigint,
    endpoint text not null,
    raw boolean not null,
    subscription_policy text,
    topic_policy text,
    dead_letter_arn text,
    state text not null default 'pending'::text,
    attempts integer not null default 0,
    due_at timestamp with time zone not null default clock_timestamp(),
    lease uuid,
    waiting boolean not null default false,
    lane text not null generated always as ((endpoint ||
CASE
    WHEN (POSITION(('maxReceivesPerSecond'::text) IN ((COALESCE(subscription_policy, ''::text) || COALESCE(topic_policy, ''::text)))) > 0) THEN (' '::text || COALESCE(subscription_arn, ''::text))
    ELSE ''::text
END)) stored,
    last_status integer,
    last_error text,
    waits_for text,
    outgoing_id bigint,
    constraint outgoing_delivery_pkey PRIMARY KEY (delivery_id),
    constraint outgoing_delivery_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'exhausted'::text])))
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);
CREATE INDEX outgoing_delivery_account_due ON queue.outgoing_delivery USING btree (account_id, due_at, delivery_id) WHERE ((state = 'pending'::text) AND (NOT waiting));
CREATE INDEX outgoing_delivery_due ON queue.outgoing_delivery USING btree (due_at, delivery_id) WHERE ((state = 'pending'::text) AND (NOT waiting));
CREATE INDEX outgoing_delivery_exhausted ON queue.outgoing_delivery USING btree (account_id, delivery_id) WHERE (state = 'exhausted'::text);
CREATE INDEX outgoing_delivery_notice ON queue.outgoing_delivery USING btree (notice_id);
CREATE INDEX outgoing_delivery_waits_for ON queue.outgoing_delivery USING btree (waits_for, due_at, delivery_id) WHERE ((state = 'pending'::text) AND waiting);

create table queue.outgoing_delivery_attempt (
    recorded_at timestamp with time zone not null default clock_timestamp(),
    attempt_id bigint not null default nextval('queue.outgoing_delivery_attempt_id'::regclass),
    account_id text not null,
    delivery_id bigint not null,
    message_id uuid not null,
    subscription_arn text,
    endpoint text not null,
    attempt integer not null,
    outcome text not null,
    status integer,
    error text,
    duration_ms integer,
    sent_bytes integer,
    answer text
) partition by RANGE (recorded_at);
CREATE INDEX outgoing_delivery_attempt_account_id ON ONLY queue.outgoing_delivery_attempt USING btree (account_id, attempt_id);

create table queue.outgoing_delivery_attempt_default partition of queue.outgoing_delivery_attempt DEFAULT;

create table queue.outgoing_delivery_excess (
    account_id text not null,
    waiting bigint not null,
    counted_at timestamp with time zone not null,
    constraint outgoing_delivery_excess_pkey PRIMARY KEY (account_id)
);

create table queue.outgoing_delivery_history (
    recorded_at timestamp with time zone not null default clock_timestamp(),
    transaction xid8 not null default pg_current_xact_id(),
    outcome text not null,
    published_at timestamp with time zone[] not null,
    attempts integer[] not null
) partition by RANGE (recorded_at);
CREATE INDEX outgoing_delivery_history_recorded_at ON ONLY queue.outgoing_delivery_history USING brin (recorded_at);

create table queue.outgoing_delivery_history_default partition of queue.outgoing_delivery_history DEFAULT;

create table queue.outgoing_excess (
    account_id text not null,
    protocol text not null,
    waiting bigint not null,
    counted_at timestamp with time zone not null,
    constraint outgoing_excess_pkey PRIMARY KEY (account_id, protocol)
);

create table queue.platform_application (
    application_id integer not null generated always as identity,
    account_id text not null,
    region text not null,
    platform text not null,
    name text not null,
    arn text not null generated always as (((((((('arn:aws:sns:'::text || region) || ':'::text) || account_id) || ':app/'::text) || platform) || '/'::text) || name)) stored,
    created_at timestamp with time zone not null default clock_timestamp(),
    credentials text not null,
    attributes jsonb not null,
    constraint platform_application_pkey PRIMARY KEY (application_id),
    constraint platform_application_account_id_region_arn_key UNIQUE (account_id, region, arn),
    constraint platform_application_arn_key UNIQUE (arn)
);

create table queue.platform_endpoint (
    endpoint_id uuid not null,
    application_id integer not null,
    arn text not null,
    account_id text not null,
    created_at timestamp with time zone not null default clock_timestamp(),
    token text not null,
    attributes jsonb not null,
    constraint platform_endpoint_pkey PRIMARY KEY (endpoint_id),
    constraint platform_endpoint_arn_key UNIQUE (arn)
);
CREATE INDEX platform_endpoint_application ON queue.platform_endpoint USING btree (application_id, endpoint_id);
CREATE UNIQUE INDEX platform_endpoint_token ON queue.platform_endpoint USING btree (application_id, md5(token));

create table queue.platform_endpoint_count (
    account_id text not null,
    part integer not null,
    endpoints bigint not null,
    constraint platform_endpoint_count_pkey PRIMARY KEY (account_id, part)
);

create unlogged table queue.poll_slot (
    function_name text not null,
    slot integer not null,
    holder uuid not null,
    ends_at timestamp with time zone not null,
    constraint poll_slot_pkey PRIMARY KEY (function_name, slot)
) with (fillfactor=50);

create unlogged table queue.poller (
    poller_id uuid not null,
    alive_until timestamp with time zone not null,
    constraint poller_pkey PRIMARY KEY (poller_id)
);

create table queue.queues (
    queue_id integer not null generated always as identity,
    account_id text not null,
    region text not null,
    name text not null,
    arn text not null generated always as (((((('arn:aws:sqs:'::text || region) || ':'::text) || account_id) || ':'::text) || name)) stored,
    fifo boolean not null generated always as (("right"(name, 5) = '.fifo'::text)) stored,
    shards smallint not null,
    created_at timestamp with time zone not null default clock_timestamp(),
    modified_at timestamp with time zone not null default clock_timestamp(),
    purged_at timestamp with time zone,
    attributes jsonb not null,
    tags jsonb not null default '{}'::jsonb,
    delay_seconds integer not null generated always as (((attributes ->> 'DelaySeconds'::text))::integer) stored,
    visibility_timeout_seconds integer not null generated always as (((attributes ->> 'VisibilityTimeout'::text))::integer) stored,
    wait_seconds integer not null generated always as (((attributes ->> 'ReceiveMessageWaitTimeSeconds'::text))::integer) stored,
    retention_seconds integer not null generated always as (((attributes ->> 'MessageRetentionPeriod'::text))::integer) stored,
    maximum_message_bytes integer not null generated always as (((attributes ->> 'MaximumMessageSize'::text))::integer) stored,
    content_based_deduplication boolean not null generated always as (COALESCE(((attributes ->> 'ContentBasedDeduplication'::text))::boolean, false)) stored,
    deduplicates_groups boolean not null generated always as ((COALESCE((attributes ->> 'DeduplicationScope'::text), 'queue'::text) = 'messageGroup'::text)) stored,
    dead_letter_arn text generated always as ((((attributes ->> 'RedrivePolicy'::text))::jsonb ->> 'deadLetterTargetArn'::text)) stored,
    max_receive_count integer generated always as (((((attributes ->> 'RedrivePolicy'::text))::jsonb ->> 'maxReceiveCount'::text))::integer) stored,
    archives boolean not null generated always as (COALESCE(((attributes ->> 'archive'::text))::boolean, false)) stored,
    keeps_history boolean not null generated always as (COALESCE(((attributes ->> 'history'::text))::boolean, true)) stored,
    counts_in_flight boolean not null default false,
    history_since timestamp with time zone,
    paused boolean not null default false,
    constraint queues_pkey PRIMARY KEY (queue_id),
    constraint queues_account_id_region_name_key UNIQUE (account_id, region, name),
    constraint queues_arn_key UNIQUE (arn),
    constraint queues_shards_check CHECK (((shards >= 1) AND (shards <= 64)))
);
CREATE INDEX queues_dead_letter_arn ON queue.queues USING btree (dead_letter_arn, name) WHERE (dead_letter_arn IS NOT NULL);

create table queue.reading (
    name text not null,
    label text not null default ''::text,
    value double precision not null,
    constraint reading_pkey PRIMARY KEY (name, label)
) with (fillfactor=50, autovacuum_vacuum_threshold=2000, autovacuum_analyze_threshold=2000);

create table queue.receive_attempt (
    queue_id integer not null,
    attempt_id text not null,
    received_at timestamp with time zone not null default clock_timestamp(),
    visible_at timestamp with time zone not null,
    ids bigint[] not null,
    receive_counts integer[] not null,
    constraint receive_attempt_pkey PRIMARY KEY (queue_id, attempt_id)
);
CREATE INDEX receive_attempt_received_at ON queue.receive_attempt USING btree (received_at);

create type queue.received_message as (
    msg_id bigint,
    read_ct integer,
    enqueued_at timestamp with time zone,
    vt timestamp with time zone,
    message jsonb,
    headers jsonb
);

create type queue.received_row as (
    error text,
    wait_seconds integer,
    queue_id integer,
    shard smallint,
    pos bigint,
    id bigint,
    receive_count integer,
    message_id text,
    sent_at_ms bigint,
    first_received_at_ms bigint,
    body text,
    attributes text,
    system text,
    public_id bigint,
    visible_at_ms bigint,
    nonce integer
);

create unlogged table queue.receiver (
    queue_id integer not null,
    caller text not null,
    agent text not null,
    address text not null,
    first_at timestamp with time zone not null,
    last_at timestamp with time zone not null,
    received bigint not null,
    constraint receiver_pkey PRIMARY KEY (queue_id, caller, agent, address)
) with (fillfactor=70);

create unlogged table queue.recent_firing (
    account_id text not null,
    fired_at timestamp with time zone not null default clock_timestamp(),
    number integer not null
);
CREATE INDEX recent_firing_account ON queue.recent_firing USING btree (account_id, fired_at);

create table queue.role_account (
    role_name name not null,
    account_id text not null,
    region text not null,
    created_at timestamp with time zone not null default clock_timestamp(),
    constraint role_account_pkey PRIMARY KEY (role_name),
    constraint role_account_account_id_check CHECK ((account_id ~ '^[0-9]{12}$'::text)),
    constraint role_account_region_check CHECK ((region ~ '^[a-z0-9-]{1,32}$'::text))
);

create table queue.sandbox_number (
    account_id text not null,
    region text not null,
    phone_number text not null,
    verified boolean not null default false,
    one_time_password text not null,
    wrong_passwords integer not null default 0,
    sent_at timestamp with time zone not null default clock_timestamp(),
    constraint sandbox_number_pkey PRIMARY KEY (account_id, region, phone_number)
);

create table queue.schedule (
    schedule_id bigint not null default nextval('queue.schedule_id'::regclass),
    account_id text not null,
    region text not null,
    group_name text not null default 'default'::text,
    name text not null,
    door text not null,
    form text not null,
    expression text not null,
    canonical text not null,
    timezone text not null,
    anchor_at timestamp with time zone,
    start_at timestamp with time zone,
    end_at timestamp with time zone,
    jitter_seconds integer not null default 0,
    window_minutes integer,
    catchup boolean not null default false,
    catchup_limit integer not null default 100,
    failure_threshold integer not null default 3,
    overlap text not null default 'allow'::text,
    target jsonb not null,
    status text not null default 'active'::text,
    next_fire_at timestamp with time zone,
    due_at timestamp with time zone,
    last_fired_at timestamp with time zone,
    last_error text,
    consecutive_failures integer not null default 0,
    fire_count bigint not null default 0,
    description text,
    kms_key_arn text,
    action_after_completion text,
    client_token text,
    created_at timestamp with time zone not null default clock_timestamp(),
    updated_at timestamp with time zone not null default clock_timestamp(),
    constraint schedule_pkey PRIMARY KEY (schedule_id),
    constraint schedule_account_id_region_group_name_name_key UNIQUE (account_id, region, group_name, name),
    constraint schedule_door_check CHECK ((door = ANY (ARRAY['native'::text, 'aws'::text]))),
    constraint schedule_form_check CHECK ((form = ANY (ARRAY['cron'::text, 'every'::text, 'when'::text, 'fire_at'::text, 'aws_cron'::text, 'rate'::text, 'at'::text]))),
    constraint schedule_overlap_check CHECK ((overlap = ANY (ARRAY['allow'::text, 'skip'::text]))),
    constraint schedule_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text])))
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);
CREATE INDEX schedule_account_due ON queue.schedule USING btree (account_id, due_at) WHERE (status = 'active'::text);
CREATE INDEX schedule_due ON queue.schedule USING btree (due_at, schedule_id) WHERE (status = 'active'::text);

create table queue.schedule_deletion (
    account_id text not null,
    region text not null,
    group_name text not null,
    name text not null,
    client_token text not null,
    deleted_at timestamp with time zone not null default clock_timestamp(),
    constraint schedule_deletion_pkey PRIMARY KEY (account_id, region, group_name, name, client_token)
);
CREATE INDEX schedule_deletion_deleted_at ON queue.schedule_deletion USING btree (deleted_at);

create table queue.schedule_group (
    account_id text not null,
    region text not null,
    name text not null,
    state text not null default 'ACTIVE'::text,
    tags jsonb not null default '{}'::jsonb,
    client_token text,
    created_at timestamp with time zone not null default clock_timestamp(),
    updated_at timestamp with time zone not null default clock_timestamp(),
    constraint schedule_group_pkey PRIMARY KEY (account_id, region, name)
);

create table queue.schedule_retry (
    retry_id bigint not null generated always as identity,
    schedule_id bigint not null,
    account_id text not null,
    region text not null,
    group_name text not null,
    name text not null,
    target jsonb not null,
    scheduled_for timestamp with time zone not null,
    retries integer not null default 0,
    expires_at timestamp with time zone not null,
    due_at timestamp with time zone not null,
    error_code text not null,
    error text not null,
    constraint schedule_retry_pkey PRIMARY KEY (retry_id)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);
CREATE INDEX schedule_retry_account_due ON queue.schedule_retry USING btree (account_id, due_at, retry_id);
CREATE INDEX schedule_retry_due ON queue.schedule_retry USING btree (due_at, retry_id);
CREATE INDEX schedule_retry_schedule ON queue.schedule_retry USING btree (schedule_id);

create table queue.schedule_run (
    run_id bigint not null generated always as identity,
    schedule_id bigint not null,
    scheduled_for timestamp with time zone not null,
    out_of_band boolean not null default false,
    attempts integer not null default 1,
    fired_at timestamp with time zone,
    message_ids jsonb not null default '[]'::jsonb,
    error text,
    recorded_at timestamp with time zone not null default clock_timestamp(),
    constraint schedule_run_pkey PRIMARY KEY (run_id)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);
CREATE INDEX schedule_run_recorded_at ON queue.schedule_run USING btree (recorded_at);
CREATE INDEX schedule_run_schedule ON queue.schedule_run USING btree (schedule_id, run_id);
CREATE UNIQUE INDEX schedule_run_once ON queue.schedule_run USING btree (schedule_id, scheduled_for) WHERE (NOT out_of_band);

create table queue.secret (
    name text not null,
    value bytea not null,
    created_at timestamp with time zone not null default now(),
    constraint secret_pkey PRIMARY KEY (name)
);

create table queue.server (
    only_row boolean not null default true,
    system_identifier bigint not null,
    timeline integer not null,
    noticed_at timestamp with time zone not null default clock_timestamp(),
    jump_after integer,
    constraint server_pkey PRIMARY KEY (only_row),
    constraint server_only_row_check CHECK (only_row)
);

create table queue.side (
    id bigint not null,
    visible_at timestamp with time zone not null,
    sent_at timestamp with time zone not null,
    first_received_at timestamp with time zone,
    message_id uuid not null,
    queue_id integer not null,
    receive_count integer not null default 0,
    shard smallint not null,
    body text not null,
    attributes jsonb,
    system jsonb,
    answer_bytes jsonb,
    entered_at timestamp with time zone,
    redelivered_at timestamp with time zone[],
    constraint side_pkey PRIMARY KEY (queue_id, shard, id)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_threshold=0, vacuum_index_cleanup=on);
CREATE INDEX side_sent_at ON queue.side USING btree (queue.time_key(queue_id, '-1'::integer), sent_at);
CREATE INDEX side_visible_at ON queue.side USING btree (queue.time_key(queue_id, '-1'::integer), visible_at);

create table queue.signing_key (
    key_id text not null,
    created_at timestamp with time zone not null default clock_timestamp(),
    retired_at timestamp with time zone,
    sealed boolean not null,
    private_key bytea not null,
    certificate text not null,
    constraint signing_key_pkey PRIMARY KEY (key_id),
    constraint signing_key_key_id_check CHECK ((key_id ~ '^[0-9a-f]{32}$'::text))
);

create table queue.sms_setting (
    account_id text not null,
    region text not null,
    attributes jsonb not null,
    constraint sms_setting_pkey PRIMARY KEY (account_id, region)
);

create table queue.subscription (
    subscription_id uuid not null,
    topic_id integer not null,
    arn text not null,
    owner text not null,
    protocol text not null,
    endpoint text not null,
    created_at timestamp with time zone not null default clock_timestamp(),
    attributes jsonb not null,
    filter jsonb,
    raw boolean not null generated always as (COALESCE(((attributes ->> 'RawMessageDelivery'::text))::boolean, false)) stored,
    filter_scope text not null generated always as (COALESCE((attributes ->> 'FilterPolicyScope'::text), 'MessageAttributes'::text)) stored,
    dead_letter_arn text generated always as ((((attributes ->> 'RedrivePolicy'::text))::jsonb ->> 'deadLetterTargetArn'::text)) stored,
    confirmed boolean not null,
    token text,
    token_expires_at timestamp with time zone,
    authenticates_unsubscribe boolean not null default false,
    target_allowed boolean not null default true,
    dead_letter_queue_allowed boolean not null default true,
    principal text,
    mail_refusals integer not null default 0,
    constraint subscription_pkey PRIMARY KEY (subscription_id),
    constraint subscription_arn_key UNIQUE (arn),
    constraint subscription_topic_id_protocol_endpoint_key UNIQUE (topic_id, protocol, endpoint),
    constraint subscription_topic_id_fkey FOREIGN KEY (topic_id) REFERENCES queue.topic(topic_id) ON DELETE CASCADE
);
CREATE INDEX subscription_dead_letters ON queue.subscription USING btree (dead_letter_arn) WHERE (dead_letter_arn IS NOT NULL);
CREATE INDEX subscription_endpoint ON queue.subscription USING btree (endpoint, subscription_id) WHERE (protocol = 'sqs'::text);
CREATE INDEX subscription_owner ON queue.subscription USING btree (owner, subscription_id);
CREATE INDEX subscription_pending ON queue.subscription USING btree (token_expires_at) WHERE (NOT confirmed);
CREATE INDEX subscription_receiver ON queue.subscription USING btree (split_part(endpoint, ':'::text, 5), subscription_id) WHERE (protocol = 'sqs'::text);
CREATE INDEX subscription_token ON queue.subscription USING btree (token);

create table queue.sweep (
    queue_id integer not null,
    shard smallint not null,
    pos bigint not null,
    again_at bigint not null,
    constraint sweep_pkey PRIMARY KEY (queue_id, shard)
) with (fillfactor=50, autovacuum_vacuum_threshold=2000, autovacuum_analyze_threshold=2000);

create table queue.topic (
    topic_id integer not null generated always as identity,
    account_id text not null,
    region text not null,
    name text not null,
    arn text not null generated always as (((((('arn:aws:sns:'::text || region) || ':'::text) || account_id) || ':'::text) || name)) stored,
    fifo boolean not null generated always as (("right"(name, 5) = '.fifo'::text)) stored,
    created_at timestamp with time zone not null default clock_timestamp(),
    attributes jsonb not null,
    tags jsonb not null default '{}'::jsonb,
    signature_version text not null generated always as (COALESCE((attributes ->> 'SignatureVersion'::text), '1'::text)) stored,
    content_based_deduplication boolean not null generated always as (COALESCE(((attributes ->> 'ContentBasedDeduplication'::text))::boolean, false)) stored,
    deduplicates_groups boolean not null generated always as ((COALESCE((attributes ->> 'FifoThroughputScope'::text), 'Topic'::text) = 'MessageGroup'::text)) stored,
    constraint topic_pkey PRIMARY KEY (topic_id),
    constraint topic_account_id_region_name_key UNIQUE (account_id, region, name),
    constraint topic_arn_key UNIQUE (arn)
);

create table queue.topic_deduplication (
    topic_id integer not null,
    scope text not null,
    deduplication_id text not null,
    message_id uuid not null,
    sequence_number bigint not null,
    expires_at timestamp with time zone not null,
    constraint topic_deduplication_pkey PRIMARY KEY (topic_id, scope, deduplication_id)
) with (autovacuum_vacuum_threshold=0, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_cost_delay=0, vacuum_index_cleanup=on);
CREATE INDEX topic_deduplication_expires_at ON queue.topic_deduplication USING btree (expires_at);

create unlogged table queue.watcher (
    queue_id integer not null,
    registered_at timestamp with time zone not null default clock_timestamp(),
    watcher uuid not null,
    constraint watcher_pkey PRIMARY KEY (queue_id, registered_at, watcher)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_analyze_threshold=1000);

create table queue.worker_position (
    worker text not null,
    "position" bigint not null,
    ran_at timestamp with time zone not null default clock_timestamp(),
    constraint worker_position_pkey PRIMARY KEY (worker)
) with (fillfactor=50, autovacuum_vacuum_threshold=2000, autovacuum_analyze_threshold=2000);

function queue.ack(name text, ids bigint[])
    returns void
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.add_default_group(p_account_id text, p_region text)
    returns void
    language sql;

function queue.add_history_day(p_name text, p_day date)
    returns void
    language plpgsql security definer set search_path=pg_catalog, pg_temp set lock_timeout=200ms;

function queue.add_redelivery(p_times timestamp with time zone[], p_at timestamp with time zone)
    returns timestamp with time zone[]
    language sql immutable;

function queue.add_sandbox_number(p_account_id text, p_region text, p_phone_number text, p_password text, p_text text, p_most integer)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.add_schedule_retry(p_schedule queue.schedule, p_at timestamp with time zone, p_code text, p_error text)
    returns queue.schedule_retry
    language plpgsql;

function queue.add_signing_key(p_key_id text, p_sealed boolean, p_private_key bytea, p_certificate text, p_rotate boolean)
    returns TABLE(key_id text, sealed boolean, private_key bytea)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.add_subscription(p_topic text, p_subscription_id uuid, p_owner text, p_protocol text, p_endpoint text, p_attributes jsonb, p_filter jsonb, p_token text, p_confirmation text, p_topic_filters integer, p_account_filters integer, p_policies jsonb, p_principal text)
    returns TABLE(arn text, confirmed boolean, error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.advance_schedule(p_schedule_id bigint, p_next_fire_at timestamp with time zone, p_note text, p_fired integer, p_failed integer)
    returns void
    language plpgsql;

function queue.allow_subscriptions(p_arn text, p_allowed uuid[], p_refused uuid[])
    returns boolean
    language plpgsql;

function queue.answer_bytes(p_message queue.received_row, p_format text)
    returns integer
    language sql stable;

function queue.application_functions()
    returns SETOF regprocedure
    language sql stable;

function queue.archive(name text, id bigint)
    returns boolean
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.as_attributes(p_headers jsonb)
    returns jsonb
    language sql immutable;

function queue.as_headers(p_attributes jsonb)
    returns jsonb
    language sql immutable;

function queue.as_json(p_text text)
    returns jsonb
    language plpgsql immutable;

function queue.ascii_bytes(p_json text)
    returns integer
    language sql immutable;

function queue.begin_audit(p_account_id text, p_actor text, p_key_id text, p_address text, p_action text, p_target text, p_filter jsonb)
    returns TABLE(audit_id bigint)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.bind(p_account_id text, p_region text, p_pattern text, p_protocol text, p_endpoint text, p_envelope boolean, p_filter_policy text, p_filter jsonb)
    returns TABLE(binding_id bigint, pattern text, protocol text, endpoint text, envelope boolean, filter_policy text, created_at_ms bigint, created boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.body_facts(p_message jsonb)
    returns jsonb
    language sql immutable;

function queue.body_shape(p_body text)
    returns text
    language plpgsql immutable;

function queue.branch_matches_together(p_keys jsonb, p_facts jsonb, p_document jsonb)
    returns boolean
    language plpgsql immutable;

function queue.caller_account(OUT account_id text, OUT region text, OUT is_bound boolean)
    returns record
    language plpgsql stable;

function queue.cancel_move_task(p_task_id uuid, p_source text)
    returns TABLE(moved bigint, error text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.change_topic(p_arn text, p_attributes jsonb)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.change_visibilities(p_queue_ids integer[], p_shards smallint[], p_positions bigint[], p_ids bigint[], p_receive_counts integer[], p_nonces integer[], p_message_ids uuid[], p_visibility_seconds integer[])
    returns TABLE(n integer, outcome text, visible_at_ms bigint)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.change_visibility(name text, id bigint, vt integer)
    returns timestamp with time zone
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.change_visibility_by_id(p_arn text, p_public_id bigint, p_seconds integer)
    returns TABLE(visible_at_ms bigint)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.check_routing_key(p_text text, p_pattern boolean DEFAULT false)
    returns void
    language plpgsql immutable;

function queue.check_schedule(p_name text, p_topic text, p_headers jsonb, p_options jsonb)
    returns void
    language plpgsql;

function queue.check_server(p_after_restore boolean DEFAULT false)
    returns boolean
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.claim_deliveries(p_limit integer, p_lease uuid, p_lease_ms integer, p_endpoints text[], p_busy integer[], p_per_host integer)
    returns TABLE(delivery_id bigint, lane text, endpoint text, kind text, message_id uuid, topic_arn text, subscription_arn text, raw boolean, subscription_policy text, topic_policy text, attempts integer, body text, account_id text, trace text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.claim_endpoint_deliveries(p_lane queue.lane, p_limit integer, p_until timestamp with time zone)
    returns bigint[]
    language plpgsql;

function queue.claim_mappings(p_poller_id uuid, p_seconds integer)
    returns TABLE(mapping_id uuid, revision bigint, now_ms bigint)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.claim_schedule_retries(p_limit integer, p_per_second integer DEFAULT 0)
    returns TABLE(retry_id bigint, topic text, input text, name text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.claim_schedules(p_limit integer, p_per_second integer DEFAULT 0)
    returns TABLE(now timestamp with time zone, schedule_id bigint, door text, form text, canonical text, timezone text, anchor_at timestamp with time zone, end_at timestamp with time zone, window_seconds integer, catchup boolean, catchup_limit integer, max_age_seconds integer, next_fire_at timestamp with time zone, topic text, name text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.clean_deleted_queue(p_queue_id integer, p_limit integer)
    returns bigint
    language plpgsql;

function queue.clean_metrics(p_limit integer, p_days integer)
    returns bigint
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.clean_outgoing(p_limit integer, p_days integer, p_most integer, p_protocols text[])
    returns bigint
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.clean_platform_applications(p_limit integer)
    returns bigint
    language plpgsql;

function queue.clean_schedule_runs(p_limit integer, p_seconds integer)
    returns bigint
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.clean_shard(p_queue_id integer, p_shard integer, p_low bigint, p_pos bigint)
    returns bigint
    language plpgsql;

function queue.clear_range(p_queue_id integer, p_shard integer, p_after bigint, p_to bigint, p_cursor bigint)
    returns void
    language plpgsql;

function queue.client_system(p_system jsonb)
    returns jsonb
    language sql immutable;

function queue.close_console_session(p_session text)
    returns TABLE(closed boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.compact_dead_letter_counts(p_limit integer)
    returns void
    language plpgsql;

function queue.confirm_subscription(p_topic text, p_token text, p_authenticates boolean)
    returns TABLE(arn text, error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.confirmation_time(p_account_id text, p_address text, p_limit integer)
    returns timestamp with time zone
    language plpgsql;

function queue.continue_move_task(p_task_id uuid, p_source text, p_maximum_per_second integer)
    returns TABLE(continued boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.count_changes()
    returns bigint
    language sql stable;

function queue.count_in_flight(p_queue_id integer, p_fifo boolean, p_shards integer)
    returns bigint
    language plpgsql stable;

function queue.count_mappings(p_mapping_ids uuid[], p_invocations bigint[], p_failed bigint[])
    returns TABLE(known bigint)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.count_messages(p_queue_id integer, p_fifo boolean, p_shards integer, OUT visible bigint, OUT in_flight bigint, OUT delayed bigint, OUT total bigint, OUT oldest timestamp with time zone, OUT newest timestamp with time zone)
    returns record
    language plpgsql stable;

function queue.count_platform_endpoints(p_accounts text[], p_changes bigint[])
    returns void
    language sql;

function queue."create"(name text, attributes jsonb DEFAULT '{}'::jsonb)
    returns text
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.create_fifo(name text, attributes jsonb DEFAULT '{}'::jsonb)
    returns text
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.create_first_key(p_key_id text, p_account_id text, p_secret bytea, p_description text)
    returns TABLE(created boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.create_key(p_kind text, p_key_id text, p_account_id text, p_secret bytea, p_description text, p_user text, p_expires_at timestamp with time zone)
    returns TABLE(created boolean, error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.create_mapping(p_account_id text, p_region text, p_queue_arn text, p_function_arn text, p_user_name text, p_options jsonb, p_filters jsonb, p_enabled boolean, p_tags jsonb)
    returns TABLE(error text, mapping jsonb)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.create_platform_application(p_account_id text, p_region text, p_platform text, p_name text, p_credentials text, p_attributes jsonb)
    returns TABLE(arn text, error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.create_platform_endpoint(p_application text, p_endpoint_id uuid, p_token text, p_attributes jsonb, p_most integer)
    returns TABLE(arn text, error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.create_queue(p_account_id text, p_region text, p_name text, p_supplied jsonb, p_defaults jsonb, p_tags jsonb, p_shards integer, p_recreate_seconds integer)
    returns TABLE(arn text, created boolean, error text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.create_schedule(name text, cron text DEFAULT NULL::text, every text DEFAULT NULL::text, fire_at timestamp with time zone DEFAULT NULL::timestamp with time zone, queue text DEFAULT NULL::text, topic text DEFAULT NULL::text, message jsonb DEFAULT NULL::jsonb, headers jsonb DEFAULT NULL::jsonb, timezone text DEFAULT 'UTC'::text, options jsonb DEFAULT '{}'::jsonb)
    returns timestamp with time zone
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.create_topic(p_account_id text, p_region text, p_name text, p_attributes jsonb, p_tags jsonb)
    returns TABLE(arn text, created boolean, error text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.cron_days(p_of_month text, p_of_week text, p_aws boolean, p_month date)
    returns integer[]
    language plpgsql immutable;

function queue.cron_month_days(p_field text, p_wraps boolean, p_first date, p_length integer)
    returns integer[]
    language plpgsql immutable;

function queue.cron_number(p_text text, p_low integer, p_high integer, p_names text[] DEFAULT '{}'::text[])
    returns integer
    language plpgsql immutable;

function queue.cron_values(p_field text, p_low integer, p_top integer, p_high integer, p_names text[], p_wraps boolean)
    returns integer[]
    language plpgsql immutable;

function queue.cron_week_days(p_field text, p_aws boolean, p_first date, p_length integer)
    returns integer[]
    language plpgsql immutable;

function queue.current_signing_key()
    returns TABLE(key_id text, sealed boolean, private_key bytea)
    language sql stable;

function queue.dead_letter_group(p_queue_id integer, p_group_key bigint, p_now timestamp with time zone, p_max_receive_count integer, p_dead_letter_arn text)
    returns boolean
    language plpgsql;

function queue.dead_letter_outgoing(p_ids bigint[])
    returns void
    language plpgsql;

function queue.dead_letter_system(p_queue_id integer, p_system jsonb, p_receive_count integer, p_first_received_at timestamp with time zone)
    returns jsonb
    language sql stable;

function queue.default_attributes(p_fifo boolean)
    returns jsonb
    language sql immutable;

function queue.deferred_groups(p_queue_id integer)
    returns TABLE(group_id text)
    language sql stable;

function queue.delay_groups(p_queue_id integer, p_delay_seconds integer)
    returns void
    language plpgsql;

function queue.delete(name text, id bigint)
    returns boolean
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.delete_by_id(p_arn text, p_public_ids bigint[], p_archive boolean DEFAULT false)
    returns TABLE(id bigint)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.delete_fifo(p_queue_id integer, p_receive_count integer, p_ids bigint[], p_message_ids uuid[], p_numbers integer[], p_archives boolean, p_keeps_history boolean)
    returns TABLE(n integer, outcome text)
    language plpgsql;

function queue.delete_leased(p_queue_id integer, p_shard integer, p_pos bigint, p_nonce integer, p_ids bigint[], p_archives boolean)
    returns bigint[]
    language plpgsql;

function queue.delete_messages(p_queue_ids integer[], p_shards smallint[], p_positions bigint[], p_ids bigint[], p_receive_counts integer[], p_nonces integer[], p_message_ids uuid[])
    returns TABLE(n integer, outcome text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.delete_one(p_queue_id integer, p_shard integer, p_id bigint, p_archives boolean, p_keeps_history boolean)
    returns boolean
    language plpgsql;

function queue.delete_queue(name text)
    returns boolean
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.delete_received(p_queue_id integer, p_shard integer, p_ids bigint[], p_message_ids uuid[], p_already bigint[], p_archives boolean, p_keeps_history boolean)
    returns bigint[]
    language plpgsql;

function queue.delete_schedule(name text)
    returns boolean
    language sql security definer set search_path=pg_catalog, queue, pg_temp;

function queue.delete_side(p_queue_id integer, p_shard integer, p_ids bigint[], p_message_ids uuid[], p_archives boolean, p_keeps_history boolean)
    returns bigint[]
    language plpgsql;

function queue.deleted_queues(p_arns text[])
    returns TABLE(arn text)
    language sql stable;

function queue.delivery_body(p_raw boolean, p_subscription_arn text, p_notice queue.notice)
    returns text
    language sql stable;

function queue.delivery_host(p_account_id text, p_endpoint text)
    returns text
    language sql immutable;

function queue.delivery_rate(p_subscription text, p_topic text)
    returns integer
    language sql immutable;

function queue.delivery_row(p_log queue.log DEFAULT NULL::queue.log, p_pos bigint DEFAULT 0, p_receive_count integer DEFAULT NULL::integer, p_first_received_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_visible_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_nonce integer DEFAULT NULL::integer, p_side queue.side DEFAULT NULL::queue.side, p_fifo queue.fifo_message DEFAULT NULL::queue.fifo_message)
    returns SETOF queue.received_row
    language sql stable;

function queue.delivery_share(p_free integer, p_busy integer)
    returns integer
    language sql immutable;

function queue.describe_platform_application(p_arn text)
    returns TABLE(attributes text)
    language sql stable;

function queue.describe_platform_endpoint(p_arn text)
    returns TABLE(token text, attributes text)
    language sql stable;

function queue.describe_queue(p_arn text, p_with_counts boolean)
    returns TABLE(name text, fifo boolean, attributes text, tags text, created_at_ms bigint, modified_at_ms bigint, visible bigint, in_flight bigint, delayed bigint, oldest_age_seconds bigint, newest_age_seconds bigint, total_messages bigint)
    language plpgsql stable set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.describe_subscription(p_arn text)
    returns TABLE(attributes text, owner text, protocol text, endpoint text, topic_arn text, confirmed boolean, authenticated boolean, topic_delivery_policy text, principal text)
    language sql stable;

function queue.describe_topic(p_arn text)
    returns TABLE(attributes text, tags text, confirmed bigint, pending bigint)
    language sql stable;

function queue.dispatch_schedule(p_schedule queue.schedule, p_at timestamp with time zone, p_out_of_band boolean, p_attempt integer, p_topic_message jsonb)
    returns queue.schedule_run
    language plpgsql;

function queue.drop_history_days(p_days integer)
    returns void
    language plpgsql security definer set search_path=pg_catalog, pg_temp set lock_timeout=200ms;

function queue.drop_mapping(p_account_id text, p_region text, p_mapping_id uuid)
    returns TABLE(mapping jsonb)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.drop_platform_application(p_arn text)
    returns TABLE(dropped boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.drop_platform_endpoint(p_arn text)
    returns TABLE(dropped boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.drop_queue(p_arn text)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.drop_sandbox_number(p_account_id text, p_region text, p_phone_number text)
    returns TABLE(dropped boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.drop_schedule(p_account_id text, p_region text, p_group text, p_name text)
    returns TABLE(dropped boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.drop_schedule_group(p_account_id text, p_region text, p_name text)
    returns TABLE(dropped boolean, schedules bigint)
    language plpgsql;

function queue.drop_schedule_once(p_account_id text, p_region text, p_group text, p_name text, p_client_token text)
    returns TABLE(dropped boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.drop_subscription(p_arn text, p_anonymous boolean, p_confirmation text)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.drop_topic(p_arn text)
    returns TABLE(dropped boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.due_work(OUT changes bigint, OUT due text[])
    returns record
    language plpgsql stable set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.encoded_bytes(p_text text, p_format text)
    returns integer
    language sql immutable;

function queue.encryption_key(p_fingerprint bytea, p_replace boolean)
    returns TABLE(fingerprint bytea)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.end_of_clock_change(p_local timestamp without time zone, p_zone text)
    returns timestamp without time zone
    language plpgsql stable;

function queue.end_user(p_account_id text, p_name text)
    returns TABLE(found boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.entered_by(p_system jsonb)
    returns text
    language sql immutable;

function queue.epoch_ms(p_at timestamp with time zone)
    returns bigint
    language sql stable;

function queue.execution_id(p_schedule_id bigint, p_at timestamp with time zone, p_attempt integer)
    returns text
    language sql immutable;

function queue.expire_deliveries(p_limit integer)
    returns TABLE(exhausted integer, dead_lettered integer)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.fact_passes(p_test jsonb, p_fact jsonb, p_kind text)
    returns boolean
    language sql immutable;

function queue.fail_schedule(p_schedule queue.schedule, p_at timestamp with time zone, p_error text)
    returns void
    language plpgsql;

function queue.failure_text(p_sqlstate text, p_message text)
    returns text
    language sql immutable;

function queue.fan_out(p_topic queue.topic, p_publications jsonb[], p_enveloped boolean)
    returns void
    language plpgsql;

function queue.fifo_entries(p_queue queue.queues, p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes integer[], p_groups text[], p_deduplication_ids text[])
    returns TABLE(n integer, message_id uuid, group_key bigint, scope text, deduplication_id text)
    language sql stable;

function queue.filter_limit_reached(p_topic_id integer, p_owner text, p_topic_filters integer, p_account_filters integer)
    returns boolean
    language sql stable;

function queue.filter_messages(p_policies jsonb[], p_facts jsonb[])
    returns TABLE(n integer)
    language sql stable;

function queue.find_access_key(p_access_key_id text)
    returns TABLE(account_id text, sealed_secret bytea, user_name text, policies text[], expires_at timestamp with time zone)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.find_bearer_key(p_key_id text)
    returns TABLE(account_id text, secret_hash bytea, user_name text, policies text[], expires_at timestamp with time zone)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.find_certificate(p_key_id text)
    returns TABLE(certificate text)
    language sql stable;

function queue.find_console_session(p_session text)
    returns TABLE(account_id text, key_id text, user_name text, policies text[], expires_at timestamp with time zone)
    language sql stable;

function queue.find_delivery_excess(p_most integer)
    returns bigint
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.find_messages(p_queue_id integer, p_filter jsonb, p_now timestamp with time zone, p_after text, p_limit integer, p_scan integer, p_bytes bigint DEFAULT NULL::bigint)
    returns TABLE(shard integer, id bigint, group_id text, receive_count integer, total_receive_count integer, message_id uuid, sent_at timestamp with time zone, entered_at timestamp with time zone, visible_at timestamp with time zone, state text, body text, attributes jsonb, system jsonb, looked_at integer, next text)
    language plpgsql stable;

function queue.find_noisy_groups(p_queue_id integer, p_shards integer, p_now timestamp with time zone)
    returns text[]
    language sql stable;

function queue.find_problems(p_service_roles text[] DEFAULT '{}'::text[])
    returns TABLE(subject text, problem text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.find_role_problems(p_service_roles text[])
    returns TABLE(problem text)
    language sql stable;

function queue.find_test_target(p_account_id text, p_region text, p_endpoint text)
    returns TABLE(topic_arn text, signature_version text, subscription_arn text, binding_id bigint, raw boolean)
    language sql stable;

function queue.fire_schedule_batch(p_schedule_ids bigint[], p_next_fire_at timestamp with time zone[], p_at timestamp with time zone[], p_topic_messages jsonb[])
    returns bigint[]
    language plpgsql;

function queue.fire_schedule_retries(p_retry_ids bigint[], p_topic_messages jsonb[])
    returns TABLE(retry_id bigint, outcome text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.fire_schedules(p_schedule_ids bigint[], p_next_fire_at timestamp with time zone[], p_notes text[], p_skipped_at timestamp with time zone[], p_counts integer[], p_at timestamp with time zone[], p_topic_messages jsonb[])
    returns TABLE(schedule_id bigint, outcome text, fired integer, skipped integer, failed integer, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.firing_capacity(p_account_id text, p_per_second integer, p_limit integer)
    returns integer
    language sql;

function queue.first_group_message(p_group_key bigint)
    returns TABLE(place tid, queue_id integer, ready_at timestamp with time zone, first_id bigint, id bigint, visible_at timestamp with time zone, sent_at timestamp with time zone)
    language sql stable;

function queue.first_instant(p_local timestamp without time zone, p_zone text)
    returns timestamp with time zone
    language sql stable;

function queue.first_ready_messages(p_group_key bigint, p_first_id bigint, p_limit integer, p_now timestamp with time zone, p_answer_bytes integer, p_answer_format text)
    returns TABLE(ids bigint[], places tid[], receive_count integer)
    language sql stable;

function queue.foreign_subscriptions()
    returns TABLE(arn text, owner text, topic_arn text, queue_arn text, policy text, is_dead_letter_queue boolean)
    language sql stable;

function queue.function_failure(p_delivery queue.outgoing_delivery, p_notice queue.notice)
    returns jsonb
    language sql stable;

function queue.function_input(p_notice queue.notice, p_attempt integer)
    returns text
    language sql stable;

function queue.give_up_deliveries(p_ids bigint[])
    returns integer
    language plpgsql;

function queue.give_up_schedule_retry(p_retry queue.schedule_retry)
    returns boolean
    language plpgsql;

function queue.group_failures(p_arn text, p_by text[], p_attribute text, p_filter jsonb, p_after text, p_scan integer, p_groups integer, p_samples integer)
    returns TABLE(group_number integer, group_source_arn text, group_receive_count integer, group_attribute text, group_shape text, group_messages bigint, oldest_ms bigint, newest_ms bigint, public_id bigint, receive_count integer, message_id text, sent_at_ms bigint, visible_at_ms bigint, body text, body_length integer, attributes text, system text, group_id text, entered_at_ms bigint, entered_by text, state text, total_receive_count integer, source_arn text, looked_at integer, next text, messages bigint, groups bigint)
    language sql stable;

function queue.group_fits(p_group_key bigint, p_first_id bigint, p_answer_bytes integer, p_answer_format text, p_max_receive_count integer)
    returns boolean
    language plpgsql stable;

function queue.group_head(p_group_key bigint, p_first_id bigint, p_answer_bytes integer, p_answer_format text)
    returns TABLE(visible_at timestamp with time zone, receive_count integer, fits boolean)
    language sql stable;

function queue.hand_over_mail(p_message queue.outgoing, p_confirmations integer)
    returns text
    language plpgsql;

function queue.hand_over_outgoing(p_protocols text[], p_limit integer, p_confirmations integer)
    returns TABLE(handed integer)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.hand_over_to_function(p_message queue.outgoing)
    returns text
    language plpgsql;

function queue.hand_over_to_gateway(p_message queue.outgoing)
    returns void
    language sql;

function queue.has_role(p_role name, p_other oid)
    returns boolean
    language sql stable;

function queue.hide_message(p_queue_id integer, p_shard integer, p_pos bigint, p_id bigint, p_receive_count integer, p_visible_at timestamp with time zone)
    returns boolean
    language plpgsql;

function queue.in_flight_capacity(p_queue_id integer, p_want integer, p_limit integer)
    returns integer
    language plpgsql;

function queue.in_network(p_text text, p_network text)
    returns boolean
    language plpgsql immutable;

function queue.invoke_function(p_schedule queue.schedule, p_at timestamp with time zone, p_attempt integer, p_trace text)
    returns jsonb
    language plpgsql;

function queue.is_opted_out(p_account_id text, p_region text, p_phone_number text)
    returns TABLE(opted_out boolean)
    language sql stable;

function queue.is_server_error(p_sqlstate text)
    returns boolean
    language sql immutable;

function queue.is_service_role()
    returns boolean
    language plpgsql stable;

function queue.is_waiting(p_task queue.move_task)
    returns boolean
    language sql immutable;

function queue.json_bytes(p_document jsonb)
    returns integer
    language sql stable;

function queue.json_shape(p_value jsonb, p_depth integer)
    returns text
    language plpgsql immutable;

function queue.jump_ids(p_limit integer)
    returns integer
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.jump_shard(p_queue_id integer, p_shard integer)
    returns boolean
    language plpgsql;

function queue.key_passes(p_key jsonb, p_values jsonb)
    returns boolean
    language plpgsql immutable;

function queue.keys_match_together(p_keys jsonb, p_members integer[], p_depth integer, p_node jsonb)
    returns boolean
    language plpgsql immutable;

function queue.lease_again(p_lease queue.lease, p_want integer, p_lease_size integer, p_now timestamp with time zone, p_visibility interval)
    returns SETOF queue.received_row
    language plpgsql;

function queue.lease_boundary(p_queue_id integer, p_shard integer, p_low bigint, p_most bigint)
    returns bigint
    language plpgsql stable;

function queue.lease_nonce()
    returns integer
    language sql;

function queue.like_any(p_text text, p_patterns jsonb)
    returns boolean
    language sql immutable;

function queue.limit_key(p_key_id text, p_expires_at timestamp with time zone)
    returns TABLE(found boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.list_audit(p_account_id text, p_before bigint, p_limit integer)
    returns TABLE(audit_id bigint, happened_at timestamp with time zone, actor text, key_id text, address text, action text, target text, filter text, affected bigint, error text, settled_at timestamp with time zone)
    language sql stable;

function queue.list_bindings(p_account_id text, p_region text, p_pattern text, p_endpoint text, p_after bigint, p_limit integer)
    returns TABLE(binding_id bigint, pattern text, protocol text, endpoint text, envelope boolean, filter_policy text, created_at_ms bigint)
    language sql stable;

function queue.list_dead_letter_sources(p_arn text, p_after text, p_limit integer)
    returns TABLE(name text)
    language sql stable;

function queue.list_deliveries(p_account_id text, p_state text, p_after bigint, p_limit integer)
    returns TABLE(delivery_id bigint, state text, kind text, message_id uuid, topic_arn text, subscription_arn text, binding_id bigint, endpoint text, attempts integer, due_at_ms bigint, under_way boolean, last_status integer, last_error text, dead_letter_arn text, created_at_ms bigint)
    language sql stable;

function queue.list_delivery_attempts(p_account_id text, p_endpoint text, p_failed boolean, p_since timestamp with time zone, p_before bigint, p_limit integer, p_most integer)
    returns TABLE(attempt_id bigint, looked_at integer, recorded_at_ms bigint, delivery_id bigint, message_id uuid, subscription_arn text, endpoint text, attempt integer, outcome text, status integer, error text, duration_ms integer, sent_bytes integer, answer text)
    language sql stable;

function queue.list_delivery_endpoints(p_account_id text, p_most integer)
    returns TABLE(endpoint text, attempts integer, delivered integer, p95_ms integer, last_status integer, last_error text, last_at_ms bigint, stopped boolean, paused_until_ms bigint, waiting integer)
    language sql stable;

function queue.list_keys()
    returns TABLE(kind text, key_id text, account_id text, user_name text, created_at timestamp with time zone, last_used_at timestamp with time zone, expires_at timestamp with time zone, revoked_at timestamp with time zone, description text)
    language sql stable;

function queue.list_mappings(p_account_id text, p_region text, p_mapping_id uuid, p_queue_arn text, p_function_arn text, p_after uuid, p_limit integer)
    returns TABLE(mapping jsonb)
    language sql stable;

function queue.list_missed_runs(p_account_id text, p_region text, p_group text, p_limit integer)
    returns TABLE(name text, scheduled_for timestamp with time zone, attempts integer, error text, recorded_at timestamp with time zone)
    language sql stable;

function queue.list_move_tasks(p_source text, p_limit integer)
    returns TABLE(error text, task_id text, status text, destination_arn text, maximum_per_second integer, moved bigint, to_move bigint, failure_reason text, started_at_ms bigint)
    language plpgsql stable set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.list_moves(p_source text, p_task_id uuid)
    returns TABLE(task_id text, state text, destination_arn text, maximum_per_second integer, ids bigint[], filter text, canary integer, to_move bigint, moved bigint, skipped bigint, looked_at bigint, failure_reason text, started_at_ms bigint, continued_at_ms bigint, ended_at_ms bigint)
    language sql stable;

function queue.list_opted_out(p_account_id text, p_region text, p_after text, p_limit integer)
    returns TABLE(phone_number text)
    language sql stable;

function queue.list_outgoing(p_account_id text, p_protocol text, p_destination text, p_after bigint, p_limit integer, p_bytes integer)
    returns TABLE(outgoing_id bigint, created_at_ms bigint, region text, protocol text, kind text, destination text, message_id uuid, topic_arn text, subscription_arn text, subject text, body text, attributes text, state text, error text)
    language sql stable;

function queue.list_platform_applications(p_account_id text, p_region text, p_after text, p_limit integer)
    returns TABLE(arn text, attributes text)
    language sql stable;

function queue.list_platform_endpoints(p_application text, p_after uuid, p_limit integer)
    returns TABLE(endpoint_id text, arn text, token text, attributes text)
    language sql stable;

function queue.list_queue_page(p_account_id text, p_region text, p_prefix text, p_after text, p_limit integer)
    returns TABLE(name text, fifo boolean, created_at_ms bigint)
    language sql stable;

function queue.list_queues()
    returns TABLE(name text, fifo boolean, arn text, created_at timestamp with time zone)
    language sql stable security definer set search_path=pg_catalog, queue, pg_temp;

function queue.list_receivers(p_arn text, p_limit integer)
    returns TABLE(caller text, agent text, address text, first_at_ms bigint, last_at_ms bigint, received bigint)
    language sql stable;

function queue.list_role_accounts()
    returns TABLE(role_name text, account_id text, region text, created_at timestamp with time zone, problem text)
    language sql stable;

function queue.list_sandbox_numbers(p_account_id text, p_region text, p_after text, p_limit integer)
    returns TABLE(phone_number text, verified boolean)
    language sql stable;

function queue.list_schedule_group_page(p_account_id text, p_region text, p_name_prefix text, p_after text, p_limit integer)
    returns TABLE(schedule_group jsonb)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.list_schedule_page(p_account_id text, p_region text, p_group text, p_name_prefix text, p_status text, p_target_kind text, p_door text, p_after_group text, p_after_name text, p_limit integer)
    returns TABLE(now timestamp with time zone, schedule jsonb)
    language sql;

function queue.list_schedule_runs(p_account_id text, p_region text, p_group text, p_name text, p_before bigint, p_limit integer)
    returns TABLE(run_id bigint, scheduled_for timestamp with time zone, out_of_band boolean, attempts integer, fired_at timestamp with time zone, message_ids jsonb, error text)
    language sql stable;

function queue.list_subscription_page(p_owner text, p_region text, p_topic text, p_after uuid, p_limit integer)
    returns TABLE(subscription_id text, arn text, owner text, protocol text, endpoint text, topic_arn text, confirmed boolean)
    language sql stable;

function queue.list_topic_page(p_account_id text, p_region text, p_after text, p_limit integer)
    returns TABLE(arn text, name text)
    language sql stable;

function queue.list_users()
    returns TABLE(account_id text, name text, policies text[], created_at timestamp with time zone)
    language sql stable;

function queue.lock_groups(p_queue_id integer, p_groups text[], p_delay interval)
    returns void
    language plpgsql;

function queue.lock_groups_of_messages(p_ids bigint[])
    returns void
    language plpgsql;

function queue.lock_key(p_kind integer, p_queue_id integer, p_shard integer)
    returns bigint
    language sql immutable;

function queue.lock_reader_briefly(p_key bigint)
    returns boolean
    language plpgsql set lock_timeout=250ms;

function queue.lock_readers_of_messages(p_queue_id integer, p_public_ids bigint[])
    returns void
    language plpgsql;

function queue.longest_message()
    returns integer
    language sql stable;

function queue.lower_case(p_text text)
    returns text
    language sql immutable;

function queue.maintain_installation(p_limit integer, p_history_days integer)
    returns bigint
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.maintain_queue(p_queue_id integer)
    returns bigint
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.maintain_shard(p_queue_id integer, p_shard integer, p_before timestamp with time zone)
    returns bigint
    language plpgsql;

function queue.maintain_topics(p_limit integer)
    returns bigint
    language plpgsql;

function queue.match_event(p_account_id text, p_region text, p_routing_key text)
    returns TABLE(binding_id bigint, pattern text, protocol text, endpoint text, envelope boolean, filter_policy text, created_at_ms bigint)
    language sql stable;

function queue.matching_bindings(p_account_id text, p_region text, p_routing_key text, p_facts jsonb DEFAULT NULL::jsonb)
    returns SETOF queue.binding
    language sql stable;

function queue.measure_installation()
    returns void
    language plpgsql;

function queue.measure_queues(p_limit integer)
    returns TABLE(account_id text, region text, name text, visible bigint, in_flight bigint, delayed bigint, oldest_age_seconds bigint)
    language sql;

function queue.merge_latency(p_queue_ids integer[], p_group_id text, p_window_seconds integer, p_from timestamp with time zone, p_to timestamp with time zone, p_step_seconds integer DEFAULT NULL::integer, p_measure text DEFAULT NULL::text, p_zone text DEFAULT 'UTC'::text)
    returns TABLE(queue_id integer, measure text, slot timestamp with time zone, count bigint, mean_us bigint, p50_us bigint, p90_us bigint, p95_us bigint, p99_us bigint, max_us bigint, negative_count bigint, exact boolean)
    language sql stable;

function queue.message_exists(p_queue_id integer, p_public_id bigint)
    returns boolean
    language plpgsql stable;

function queue.message_size(p_body text, p_attributes jsonb)
    returns integer
    language sql immutable;

function queue.message_state(p_visible_at timestamp with time zone, p_receive_count integer)
    returns text
    language sql;

function queue.metrics(name text)
    returns TABLE(queue_name text, queue_length bigint, visible bigint, in_flight bigint, delayed bigint, newest_msg_age_sec bigint, oldest_msg_age_sec bigint, total_messages bigint, scrape_time timestamp with time zone)
    language plpgsql stable security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.move_cursors()
    returns integer
    language plpgsql;

function queue.move_group(p_queue_id integer, p_group_key bigint, p_group_id text, p_limit integer, p_destination text, p_target_arn text)
    returns integer
    language plpgsql;

function queue.move_group_messages(p_queue_id integer, p_group_key bigint, p_group_id text, p_ids bigint[], p_target_arn text)
    returns boolean
    language plpgsql;

function queue.move_groups(p_queue_id integer, p_limit integer, p_destination text, OUT moved integer, OUT failure text)
    returns record
    language plpgsql;

function queue.move_log(p_queue_id integer, p_shards integer, p_limit integer, p_destination text, OUT moved integer, OUT failure text)
    returns record
    language plpgsql;

function queue.move_selected(p_task queue.move_task, p_limit integer, OUT moved integer, OUT skipped integer, OUT looked_at integer, OUT place text, OUT done boolean, OUT failure text)
    returns record
    language plpgsql;

function queue.move_selected_group(p_task queue.move_task, p_group_id text, p_ids bigint[], OUT moved integer, OUT failure text, OUT busy boolean, OUT stuck boolean)
    returns record
    language plpgsql;

function queue.move_selected_side(p_queue_id integer, p_shards integer[], p_ids bigint[], p_destination text, OUT moved integer, OUT busy boolean)
    returns record
    language plpgsql;

function queue.move_side(p_queue_id integer, p_limit integer, p_destination text, OUT moved integer, OUT failure text)
    returns record
    language plpgsql;

function queue.move_side_rows(p_queue_id integer, p_places tid[], p_destination text)
    returns integer
    language plpgsql;

function queue.move_system(p_system jsonb)
    returns jsonb
    language sql immutable;

function queue.move_target(p_queue_id integer, p_destination text, p_system jsonb)
    returns TABLE(target_arn text, failure text)
    language sql stable;

function queue.nearest_weekday(p_date date)
    returns integer
    language sql immutable;

function queue.next_cron_fires(p_canonical text, p_zone text, p_after timestamp with time zone, p_count integer)
    returns SETOF timestamp with time zone
    language plpgsql stable;

function queue.next_delivery(p_watcher uuid)
    returns TABLE(wait_ms integer)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.next_fires(canonical text, timezone text DEFAULT 'UTC'::text, after timestamp with time zone DEFAULT clock_timestamp(), count integer DEFAULT 5, anchor timestamp with time zone DEFAULT NULL::timestamp with time zone)
    returns SETOF timestamp with time zone
    language plpgsql stable security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.next_later_schedule()
    returns TABLE(ms integer)
    language sql;

function queue.next_local_time(p_seconds integer[], p_minutes integer[], p_hours integer[], p_months integer[], p_years integer[], p_of_month text, p_of_week text, p_aws boolean, p_after timestamp without time zone)
    returns timestamp without time zone
    language plpgsql immutable;

function queue.next_queues(p_worker text, p_limit integer, p_pause_ms integer DEFAULT 0)
    returns TABLE(queue_id integer)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.next_rate_fires(p_canonical text, p_after timestamp with time zone, p_count integer, p_anchor timestamp with time zone)
    returns SETOF timestamp with time zone
    language sql stable;

function queue.next_schedule()
    returns TABLE(schedule_ms integer, retry_ms integer)
    language sql;

function queue.next_time_of_day(p_seconds integer[], p_minutes integer[], p_hours integer[], p_after time without time zone)
    returns time without time zone
    language plpgsql immutable;

function queue.noisy_groups(p_queue_id integer, p_shards integer, p_shard integer, p_pos bigint, p_want integer, p_now timestamp with time zone)
    returns text[]
    language plpgsql;

function queue.note_long_message(p_body text, p_bytes integer)
    returns text
    language plpgsql stable;

function queue.note_receivers(p_arns text[], p_callers text[], p_agents text[], p_addresses text[], p_last_at timestamp with time zone[], p_received bigint[])
    returns TABLE(noted integer)
    language sql;

function queue.notify_endpoint(p_subscription queue.subscription, p_kind text, p_topic text, p_text text)
    returns void
    language sql;

function queue.notify_watchers(p_queue_id integer, p_arn text, p_wakes_its_own boolean DEFAULT false)
    returns void
    language plpgsql;

function queue.number_fifo_messages(p_arn text, p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes integer[], p_groups text[], p_deduplication_ids text[])
    returns TABLE(n integer, id bigint, message_id text, group_key bigint, sent_at timestamp with time zone, deduplication_id text, error text, detail text)
    language plpgsql;

function queue.number_publications(p_topic queue.topic, p_publications jsonb[])
    returns jsonb[]
    language plpgsql;

function queue.open_console_session(p_session text, p_kind text, p_key_id text, p_seconds integer)
    returns TABLE(expires_at timestamp with time zone)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.opt_in(p_account_id text, p_region text, p_phone_number text)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.opt_out(p_account_id text, p_region text, p_phone_number text)
    returns TABLE(changed boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.outgoing_envelope(p_topic queue.topic, p_subscription queue.subscription, p_publication jsonb, p_text text)
    returns text
    language sql stable;

function queue.outgoing_refusal(p_account_id text, p_region text, p_protocol text, p_destination text)
    returns text
    language sql stable;

function queue.parse_cron(p_expression text, OUT seconds integer[], OUT minutes integer[], OUT hours integer[], OUT months integer[], OUT years integer[], OUT of_month text, OUT of_week text, OUT aws boolean)
    returns record
    language plpgsql immutable;

function queue.parse_every(p_text text)
    returns text
    language plpgsql immutable;

function queue.parse_moment(p_text text, p_zone text)
    returns timestamp with time zone
    language plpgsql stable;

function queue.parse_rate(p_expression text)
    returns bigint
    language plpgsql immutable;

function queue.parse_schedule(form text, expression text, timezone text DEFAULT 'UTC'::text)
    returns text
    language plpgsql stable security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.pass_over(p_arn text, p_message queue.received_row, p_format text, p_bytes integer)
    returns boolean
    language plpgsql;

function queue.passes_over_all(p_arn text, p_answer_bytes integer, p_answer_format text)
    returns boolean
    language plpgsql;

function queue.pause_delivery_endpoint(p_account_id text, p_endpoint text)
    returns TABLE(known boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.peek_messages(p_arn text, p_state text, p_after bigint, p_limit integer, p_bytes bigint DEFAULT NULL::bigint)
    returns TABLE(public_id bigint, receive_count integer, message_id text, sent_at_ms bigint, visible_at_ms bigint, body text, attributes text, system text, group_id text, entered_at_ms bigint, entered_by text)
    language sql stable;

function queue.pick_messages(p_queue_id integer, p_public_ids bigint[])
    returns TABLE(shard integer, id bigint, group_id text, receive_count integer, message_id uuid, sent_at timestamp with time zone, entered_at timestamp with time zone, visible_at timestamp with time zone, body text, attributes jsonb, system jsonb)
    language sql stable;

function queue.policies_changed(p_policies jsonb)
    returns boolean
    language plpgsql;

function queue.policy_matches(p_policy jsonb, p_facts jsonb)
    returns boolean
    language plpgsql immutable;

function queue.poll_queues(p_arns text[], p_seen text DEFAULT NULL::text)
    returns TABLE(arn text, snapshot text, wait_ms integer)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.pop(name text, qty integer DEFAULT 1)
    returns SETOF queue.received_message
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.preview_schedule(cron text DEFAULT NULL::text, every text DEFAULT NULL::text, fire_at text DEFAULT NULL::text, expression text DEFAULT NULL::text, timezone text DEFAULT 'UTC'::text, count integer DEFAULT 5)
    returns TABLE(canonical text, next_fires timestamp with time zone[])
    language plpgsql stable security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.public_id(p_shard integer, p_id bigint)
    returns bigint
    language sql immutable;

function queue.publication_text(p_publication jsonb, p_subscription queue.subscription)
    returns text
    language plpgsql immutable;

function queue.publish_event(routing_key text, message jsonb, headers jsonb DEFAULT NULL::jsonb, delay integer DEFAULT NULL::integer)
    returns TABLE(queue_name text, msg_id bigint)
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.publish_events(p_account_id text, p_region text, p_routing_key text, p_body text, p_attributes jsonb, p_headers jsonb, p_facts jsonb, p_delay integer DEFAULT NULL::integer, p_trace text DEFAULT NULL::text, p_error_as_row boolean DEFAULT false)
    returns TABLE(arn text, id bigint, error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.publish_messages(p_publications jsonb[], p_topic text, p_signature_version text)
    returns TABLE(n integer, message_id text, sequence_number bigint, error text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.publish_schedule_to_topic(p_target jsonb, p_topic_message jsonb)
    returns jsonb
    language plpgsql;

function queue.publish_to_endpoint(p_topic queue.topic, p_subscription queue.subscription, p_publications jsonb[])
    returns void
    language plpgsql;

function queue.publish_to_outbox(p_topic queue.topic, p_subscription queue.subscription, p_publications jsonb[])
    returns void
    language plpgsql;

function queue.publish_to_queue(p_topic queue.topic, p_subscription queue.subscription, p_queue text, p_publications jsonb[])
    returns jsonb[]
    language plpgsql;

function queue.purge_groups(p_queue_id integer, p_before timestamp with time zone DEFAULT NULL::timestamp with time zone)
    returns bigint
    language plpgsql;

function queue.purge_messages(p_arn text, p_interval_seconds integer)
    returns TABLE(purged bigint, error text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.purge_queue(name text)
    returns bigint
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.purge_shard(p_queue_id integer, p_shard integer, p_before timestamp with time zone DEFAULT NULL::timestamp with time zone)
    returns bigint
    language plpgsql;

function queue.purge_side(p_queue_id integer, p_before timestamp with time zone DEFAULT NULL::timestamp with time zone)
    returns bigint
    language plpgsql;

function queue.put_schedule(p_account_id text, p_region text, p_group text, p_name text, p_mode text, p_fields jsonb, p_next_fire_at timestamp with time zone)
    returns TABLE(schedule jsonb, created boolean, error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.put_schedule_group(p_account_id text, p_region text, p_name text, p_tags jsonb, p_client_token text)
    returns TABLE(schedule_group jsonb, created boolean, error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.queues_with_leftover_rows(p_queue_ids integer[])
    returns TABLE(queue_id integer)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.quota_reached(p_account_id text, p_region text, p_kind text, p_group text, p_name text, p_most integer)
    returns TABLE(reached boolean)
    language plpgsql stable set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.read_archive(p_arn text, p_after bigint, p_limit integer, p_bytes bigint DEFAULT NULL::bigint)
    returns TABLE(archive_id bigint, public_id bigint, message_id text, sent_at_ms bigint, archived_at_ms bigint, receive_count integer, body text, attributes text, system text)
    language sql stable;

function queue.read_busiest_queues(p_account_id text, p_region text, p_window_seconds integer, p_from timestamp with time zone, p_to timestamp with time zone, p_limit integer, p_zone text DEFAULT 'UTC'::text)
    returns TABLE(name text, arrivals bigint, greatest_depth bigint)
    language sql stable;

function queue.read_calendar(p_account_id text, p_region text, p_group text, p_until timestamp with time zone, p_limit integer)
    returns TABLE(form text, expression text, canonical text, timezone text, anchor_at timestamp with time zone, end_at timestamp with time zone, schedules bigint, names text[], next_fire_at timestamp with time zone, late bigint, looked_at bigint, expressions bigint, read_at timestamp with time zone)
    language sql stable set jit=off;

function queue.read_hot_groups(p_account_id text, p_region text, p_name text, p_window_seconds integer, p_from timestamp with time zone, p_to timestamp with time zone, p_limit integer, p_zone text DEFAULT 'UTC'::text)
    returns TABLE(name text, group_id text, arrivals bigint, arrivals_of_all bigint)
    language sql stable;

function queue.read_installation()
    returns TABLE(name text, label text, value double precision)
    language sql stable;

function queue.read_lag(p_account_id text, p_region text, p_name text, p_after text, p_limit integer)
    returns TABLE(name text, from_at timestamp with time zone, to_at timestamp with time zone, computed_at timestamp with time zone, visible bigint, in_flight bigint, delayed bigint, oldest_age_us bigint, backlog bigint, arrival_rate double precision, drain_rate double precision, drain_seconds double precision, forecast_at timestamp with time zone[], forecast double precision[], forecast_low double precision[], forecast_high double precision[], latencies text, outlook text)
    language plpgsql stable set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.read_lag_heat(p_account_id text, p_region text, p_names text[], p_window_seconds integer, p_from timestamp with time zone, p_to timestamp with time zone, p_step_seconds integer, p_zone text DEFAULT 'UTC'::text)
    returns TABLE(name text, slot timestamp with time zone, count bigint, p95_us bigint)
    language sql stable;

function queue.read_mappings(p_mapping_ids uuid[])
    returns TABLE(mapping jsonb)
    language sql stable;

function queue.read_measurements(p_limit integer)
    returns TABLE(arn text, visible bigint, in_flight bigint, delayed bigint, oldest_age_seconds double precision, noisy_groups bigint, dead_lettered bigint, measured_seconds double precision)
    language sql stable;

function queue.read_metrics(p_arn text, p_window_seconds integer, p_group_id text, p_from timestamp with time zone, p_to timestamp with time zone, p_zone text DEFAULT 'UTC'::text)
    returns TABLE(starts_at timestamp with time zone, ends_at timestamp with time zone, computed_at timestamp with time zone, arrivals bigint, deliveries bigint, redeliveries bigint, deletions bigint, dead_lettered bigint, purged bigint, expired bigint, moved bigint, depth bigint, waiting bigint, received bigint, oldest_age_us bigint, visible bigint, in_flight bigint, delayed bigint, groups integer, top_group_share double precision, gini double precision, latencies text, hot_groups text)
    language sql stable;

function queue.read_minutes(p_arns text[], p_from timestamp with time zone, p_to timestamp with time zone)
    returns TABLE(n integer, starts_at timestamp with time zone, sent bigint, received bigint, redelivered bigint, deleted bigint, dead_lettered bigint, visible bigint, in_flight bigint, delayed bigint, oldest_at timestamp with time zone, last_received_at timestamp with time zone)
    language sql stable;

function queue.read_overview(p_account_id text, p_region text, p_limit integer)
    returns TABLE(name text, arn text, queues bigint, measured bigint, visible bigint, in_flight bigint, delayed bigint, dead_letters bigint, oldest_at timestamp with time zone, measured_at timestamp with time zone, read_at timestamp with time zone)
    language sql stable set jit=off set enable_hashjoin=on set enable_seqscan=on set work_mem=32MB;

function queue.read_policies(p_arns text[])
    returns TABLE(n integer, policy text, owner text, receiver text)
    language sql stable;

function queue.read_queue_history(p_arn text, p_from timestamp with time zone, p_to timestamp with time zone)
    returns TABLE(starts_at timestamp with time zone, ends_at timestamp with time zone, arrivals bigint, finished bigint, depth bigint, oldest_age_us bigint, lag_p50_us bigint, lag_p99_us bigint)
    language sql stable;

function queue.read_queue_page(p_account_id text, p_region text, p_search text, p_sort text, p_descending boolean, p_skip integer, p_limit integer)
    returns TABLE(name text, arn text, fifo boolean, created_at timestamp with time zone, total bigint, visible bigint, in_flight bigint, delayed bigint, oldest_at timestamp with time zone, measured_at timestamp with time zone, dead_letter_name text, source_name text, sources bigint)
    language plpgsql stable set jit=off set enable_hashjoin=off set enable_seqscan=off set work_mem=32MB set plan_cache_mode=force_generic_plan set enable_bitmapscan=off set enable_mergejoin=off;

function queue.read_schedule(p_account_id text, p_region text, p_group text, p_name text)
    returns TABLE(now timestamp with time zone, schedule jsonb)
    language sql;

function queue.read_schedule_group(p_account_id text, p_region text, p_name text)
    returns TABLE(schedule_group jsonb)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.read_server()
    returns TABLE(server_version text, migrations integer[], sees_sessions boolean, snapshot_seconds double precision, connections bigint, most_connections integer, wal_bytes bigint, slots bigint, kept_bytes bigint)
    language plpgsql stable set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.read_topic_page(p_account_id text, p_region text, p_search text, p_skip integer, p_limit integer)
    returns TABLE(name text, arn text, fifo boolean, created_at timestamp with time zone, confirmed bigint, pending bigint, total bigint)
    language sql stable;

function queue.read_topic_policies(p_arns text[])
    returns TABLE(n integer, policy text, owner text, receiver text)
    language sql stable;

function queue.read_topic_subscriptions(p_topic text, p_attribute_facts jsonb, p_body_facts jsonb, p_skip integer, p_limit integer)
    returns TABLE(arn text, owner text, protocol text, endpoint text, confirmed boolean, raw boolean, filter_policy text, filter_scope text, dead_letter_arn text, matches boolean)
    language sql stable;

function queue.read_verdict_facts(p_arns text[])
    returns TABLE(n integer, arn text, read_at timestamp with time zone, fifo boolean, dead_letters boolean, noisy_groups integer, top_group_share double precision, paused_endpoints integer, retention_at timestamp with time zone, never_catches_up boolean, measured_at timestamp with time zone, visible bigint, in_flight bigint, delayed bigint, oldest_at timestamp with time zone, paused boolean, stopped_mapping text, failing_since timestamp with time zone, failing_result text)
    language sql stable;

function queue.ready_queues(p_arns text[])
    returns TABLE(arn text)
    language sql;

function queue.ready_shards(p_queue_id integer, p_shards integer, p_now timestamp with time zone)
    returns TABLE(shard integer, since timestamp with time zone)
    language sql stable;

function queue.receive(name text, vt integer DEFAULT NULL::integer, qty integer DEFAULT 1)
    returns SETOF queue.received_message
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.receive_answer(p_queue text, p_max integer, p_lease_size integer, p_visibility_seconds integer, p_in_flight_limit integer, p_async_commit boolean, p_attempt_id text, p_answer_bytes integer, p_answer_format text)
    returns SETOF queue.received_row
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.receive_attempt(p_queue text, p_max integer, p_visibility_seconds integer, p_in_flight_limit integer, p_attempt_id text, p_answer_bytes integer, p_answer_format text)
    returns SETOF queue.received_row
    language plpgsql;

function queue.receive_fifo(name text, vt integer DEFAULT NULL::integer, qty integer DEFAULT 1)
    returns SETOF queue.received_message
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.receive_messages(p_queue text, p_max integer, p_lease_size integer, p_visibility_seconds integer, p_in_flight_limit integer, p_async_commit boolean, p_attempt_id text, p_refuse_over integer DEFAULT NULL::integer, p_answer_bytes integer DEFAULT NULL::integer, p_answer_format text DEFAULT NULL::text)
    returns SETOF queue.received_row
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.reclaim_space()
    returns integer
    language plpgsql security definer set search_path=pg_catalog, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.record_acknowledged(p_queue_id integer, p_shard integer, p_lease queue.lease)
    returns timestamp with time zone[]
    language plpgsql;

function queue.record_endpoint_health(p_ids bigint[], p_endpoints text[], p_healths integer[])
    returns void
    language plpgsql;

function queue.record_firings(p_accounts text[], p_numbers integer[])
    returns void
    language sql;

function queue.record_mail_refusals(p_subscriptions text[], p_refused boolean[])
    returns void
    language plpgsql;

function queue.record_skipped_run(p_schedule_id bigint, p_at timestamp with time zone, p_note text)
    returns void
    language sql;

function queue.refresh_statistics()
    returns integer
    language plpgsql security definer set search_path=pg_catalog, pg_temp set lock_timeout=200ms set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.refuse_dead_letter_queue(p_arn text)
    returns TABLE(found boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.refuse_long_messages()
    returns void
    language plpgsql;

function queue.release_deferred(p_queue_id integer, p_shards integer)
    returns void
    language plpgsql;

function queue.release_poll_slot(p_function_name text, p_holder uuid)
    returns TABLE(slot integer)
    language sql;

function queue.remove_empty_groups(p_queue_id integer, p_limit integer)
    returns void
    language plpgsql;

function queue.repeat_receive(p_queue_id integer, p_attempt_id text, p_visibility interval, p_wait_seconds integer)
    returns SETOF queue.received_row
    language plpgsql;

function queue.replace_policy(p_arn text, p_old text, p_new text, p_allowed uuid[], p_refused uuid[])
    returns TABLE(replaced boolean, error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.replace_topic_policy(p_arn text, p_old text, p_new text)
    returns TABLE(replaced boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.report_mapping(p_mapping_id uuid, p_revision bigint, p_result text, p_reason text)
    returns TABLE(known boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.require_read_committed()
    returns void
    language plpgsql;

function queue.resolve(p_name text)
    returns text
    language plpgsql stable;

function queue.resume_delivery_endpoint(p_account_id text, p_endpoint text)
    returns TABLE(known boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.retry_deliveries(p_account_id text, p_endpoint text, p_since timestamp with time zone, p_after bigint, p_limit integer)
    returns TABLE(retried integer, last_id bigint)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.retry_delivery(p_account_id text, p_delivery_id bigint)
    returns TABLE(delivery_id bigint)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.revoke_key(p_key_id text)
    returns TABLE(revoked boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.role_problem(p_role name)
    returns text
    language sql stable;

function queue.routing_key_matches(p_pattern text[], p_key text[])
    returns boolean
    language plpgsql immutable;

function queue.run_move_task(p_task_id uuid, p_limit integer)
    returns TABLE(moved integer, status text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.run_schedule(p_account_id text, p_region text, p_group text, p_name text)
    returns TABLE(scheduled_for timestamp with time zone, fired_at timestamp with time zone, message_ids jsonb, error text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.running_move_tasks()
    returns TABLE(task_id uuid)
    language sql;

function queue.scan_messages(p_queue_id integer, p_after text, p_limit integer)
    returns TABLE(shard integer, id bigint, group_id text, receive_count integer, message_id uuid, sent_at timestamp with time zone, entered_at timestamp with time zone, visible_at timestamp with time zone, body text, attributes jsonb, system jsonb)
    language plpgsql stable;

function queue.schedule_arn(p_schedule queue.schedule)
    returns text
    language sql immutable;

function queue.schedule_due_at(p_schedule_id bigint, p_at timestamp with time zone, p_seconds integer)
    returns timestamp with time zone
    language sql immutable;

function queue.schedule_failure(p_schedule queue.schedule, p_at timestamp with time zone, p_retries integer, p_code text, p_error text, p_exhausted text)
    returns jsonb
    language sql stable;

function queue.schedule_input(p_schedule queue.schedule, p_at timestamp with time zone, p_attempt integer)
    returns text
    language sql immutable;

function queue.schedule_inputs(p_schedule_ids bigint[], p_at timestamp with time zone[])
    returns TABLE(n integer, input text)
    language sql stable;

function queue.schedule_message(p_schedule queue.schedule, p_at timestamp with time zone, p_out_of_band boolean)
    returns TABLE(body text, attributes jsonb, size integer)
    language sql stable;

function queue.schedule_overlaps(p_schedule queue.schedule)
    returns boolean
    language sql stable;

function queue.schedule_time(p_at timestamp with time zone)
    returns text
    language sql immutable;

function queue.schedule_window(p_schedule queue.schedule)
    returns integer
    language sql immutable;

function queue.sealed_keys()
    returns TABLE(kind text, key_id text, account_id text, sealed bytea)
    language sql stable;

function queue.search_messages(p_arn text, p_filter jsonb, p_after text, p_limit integer, p_scan integer, p_bytes bigint)
    returns TABLE(public_id bigint, receive_count integer, message_id text, sent_at_ms bigint, visible_at_ms bigint, body text, attributes text, system text, group_id text, entered_at_ms bigint, entered_by text, state text, total_receive_count integer, source_arn text, looked_at integer, next text, messages bigint)
    language sql stable;

function queue.selected_messages(p_task queue.move_task, p_limit integer)
    returns TABLE(shard integer, id bigint, group_id text, can_move boolean, target_arn text, failure text, looked_at integer, next text)
    language plpgsql stable;

function queue.send(name text, message jsonb, headers jsonb DEFAULT NULL::jsonb, delay integer DEFAULT NULL::integer)
    returns bigint
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.send_batch(name text, messages jsonb[], headers jsonb[] DEFAULT NULL::jsonb[], delay integer DEFAULT NULL::integer, group_id text DEFAULT NULL::text, deduplication_ids text[] DEFAULT NULL::text[])
    returns SETOF bigint
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.send_documents(p_name text, p_messages jsonb[], p_headers jsonb[], p_delay integer, p_group_id text, p_deduplication_ids text[])
    returns SETOF bigint
    language plpgsql;

function queue.send_fifo(name text, message jsonb, group_id text, deduplication_id text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb)
    returns bigint
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.send_later(p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes integer[], p_attributes jsonb[], p_system jsonb[], p_delays integer[], p_groups text[], p_deduplication_ids text[])
    returns TABLE(n integer, id bigint, schedule text, error text, detail text)
    language plpgsql;

function queue.send_messages(p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes integer[], p_attributes jsonb[], p_system jsonb[], p_delays integer[], p_groups text[], p_deduplication_ids text[], p_async_commit boolean DEFAULT false)
    returns TABLE(n integer, id bigint, message_id text, sequence_number bigint, error text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.send_moved(p_targets text[], p_messages queue.received_row[])
    returns void
    language plpgsql;

function queue.send_outgoing(p_account_id text, p_region text, p_protocol text, p_kind text, p_destination text, p_message_id uuid, p_subject text, p_body text, p_attributes jsonb)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.send_test_webhook(p_account_id text, p_subscription_arn text, p_binding_id bigint, p_message_id uuid, p_raw text, p_head text, p_tail text)
    returns TABLE(delivery_id bigint, error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.send_topic(routing_key text, message jsonb, headers jsonb DEFAULT NULL::jsonb, delay integer DEFAULT NULL::integer)
    returns integer
    language sql security definer set search_path=pg_catalog, queue, pg_temp;

function queue.set_platform_application(p_arn text, p_attributes jsonb, p_credentials text)
    returns TABLE(found boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.set_platform_endpoint(p_arn text, p_token text, p_attributes jsonb)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.set_queue_attributes(p_arn text, p_attributes jsonb, p_allowed uuid[], p_refused uuid[])
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.set_role_account(p_role text, p_account_id text, p_region text)
    returns TABLE(problem text)
    language sql;

function queue.set_subscription_attributes(p_arn text, p_known jsonb, p_attributes jsonb, p_filter jsonb, p_topic_filters integer, p_account_filters integer, p_policies jsonb)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.set_user(p_account_id text, p_name text, p_policies text[])
    returns TABLE(created boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.settle_audit(p_audit_id bigint, p_affected bigint, p_error text)
    returns TABLE(settled boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.settle_deliveries(p_ids bigint[], p_leases uuid[], p_endpoints text[], p_statuses integer[], p_errors text[], p_delays_ms integer[], p_healths integer[], p_durations_ms integer[] DEFAULT NULL::integer[], p_sent_bytes integer[] DEFAULT NULL::integer[], p_answers text[] DEFAULT NULL::text[])
    returns TABLE(delivered integer, retried integer, exhausted integer, dead_lettered integer, lost integer)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.shared_secret(p_name text, p_new bytea)
    returns TABLE(value bytea)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.show_mapping(p_mapping queue.event_source_mapping)
    returns jsonb
    language sql immutable;

function queue.sms_attributes(p_account_id text, p_region text, p_attributes jsonb)
    returns TABLE(attributes text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.start_move_task(p_source text, p_destination text, p_maximum_per_second integer, p_ids bigint[] DEFAULT NULL::bigint[], p_filter jsonb DEFAULT NULL::jsonb, p_canary integer DEFAULT NULL::integer)
    returns TABLE(task_id text, error text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.store_gauges(p_ids integer[])
    returns void
    language sql;

function queue.store_measurements(p_limit integer, p_pause_ms integer)
    returns TABLE(queues integer)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.store_minutes(p_limit integer, p_most integer, p_pause_ms integer)
    returns TABLE(calls bigint, queues integer)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.stored_bytes(p_message queue.received_row)
    returns integer
    language sql immutable;

function queue.subscribe(pattern text, name text)
    returns bigint
    language sql security definer set search_path=pg_catalog, queue, pg_temp;

function queue.subscription_refusal(p_topic queue.topic, p_protocol text, p_owner text, p_filter jsonb, p_topic_filters integer, p_account_filters integer)
    returns text
    language sql stable;

function queue.subscriptions_of_queue(p_arn text)
    returns TABLE(subscription_id uuid, owner text, topic_arn text)
    language sql stable;

function queue.sweep_shard(p_queue_id integer, p_shard integer, p_low bigint, p_pos bigint)
    returns void
    language plpgsql;

function queue.sync_schedules(p_account_id text, p_region text, p_names text[], p_fields jsonb[], p_next_fire_at timestamp with time zone[], p_prune boolean)
    returns TABLE(n integer, schedule jsonb, created boolean, changed boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.system_attributes(p_group text, p_trace text)
    returns jsonb
    language sql immutable;

function queue.tag_mapping(p_account_id text, p_region text, p_mapping_id uuid, p_tags jsonb, p_removed text[])
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.tag_queue(p_arn text, p_tags jsonb, p_limit integer)
    returns TABLE(error text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.tag_schedule_group(p_account_id text, p_region text, p_name text, p_tags jsonb, p_limit integer)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.tag_topic(p_arn text, p_tags jsonb, p_limit integer)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.take_deferred(p_queue_id integer, p_max integer, p_lease_size integer, p_begun timestamp with time zone, p_visibility interval)
    returns SETOF queue.received_row
    language plpgsql;

function queue.take_expired(p_queue_id integer, p_shard integer, p_after timestamp with time zone, p_now timestamp with time zone, p_max integer, p_visibility interval, p_max_receive_count integer, p_dead_letter_arn text)
    returns SETOF queue.received_row
    language plpgsql;

function queue.take_fair(p_queue_id integer, p_shard integer, p_pos bigint, p_max integer, p_lease_size integer, p_now timestamp with time zone, p_visibility interval, p_watermark timestamp with time zone, p_low bigint, p_noisy text[])
    returns SETOF queue.received_row
    language plpgsql;

function queue.take_groups(p_queue_id integer, p_max integer, p_share integer, p_visibility interval, p_max_receive_count integer, p_dead_letter_arn text, p_answer_bytes integer, p_answer_format text)
    returns SETOF queue.received_row
    language plpgsql;

function queue.take_log(p_queue_id integer, p_shards integer, p_max integer, p_lease_size integer, p_visibility interval, p_max_receive_count integer, p_dead_letter_arn text, p_fair boolean DEFAULT true)
    returns SETOF queue.received_row
    language plpgsql;

function queue.take_poll_slot(p_function_name text, p_holder uuid, p_slots integer, p_seconds double precision)
    returns TABLE(slot integer)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.take_shard(p_queue_id integer, p_shard integer, p_max integer, p_lease_size integer, p_visibility interval, p_max_receive_count integer, p_dead_letter_arn text, p_shards integer)
    returns SETOF queue.received_row
    language plpgsql;

function queue.take_side(p_queue_id integer, p_max integer, p_now timestamp with time zone, p_visibility interval, p_max_receive_count integer, p_dead_letter_arn text, p_answer_bytes integer, p_answer_format text)
    returns SETOF queue.received_row
    language plpgsql;

function queue.take_unreceived(p_queue_id integer, p_shard integer, p_id bigint, p_visible_at timestamp with time zone, p_archives boolean, p_keeps_history boolean)
    returns boolean
    language plpgsql;

function queue.target_kind(p_target jsonb)
    returns text
    language sql immutable;

function queue.time_key(p_queue_id integer, p_shard integer)
    returns bigint
    language sql immutable;

function queue.timeline()
    returns integer
    language plpgsql;

function queue.transact(p_queue_ids integer[], p_shards smallint[], p_positions bigint[], p_ids bigint[], p_receive_counts integer[], p_nonces integer[], p_receipt_message_ids uuid[], p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes integer[], p_attributes jsonb[], p_system jsonb[], p_delays integer[], p_groups text[], p_deduplication_ids text[], p_account_id text DEFAULT NULL::text, p_region text DEFAULT NULL::text, p_keys text[] DEFAULT NULL::text[], p_event_bodies text[] DEFAULT NULL::text[], p_event_attributes jsonb[] DEFAULT NULL::jsonb[], p_event_headers jsonb[] DEFAULT NULL::jsonb[], p_event_facts jsonb[] DEFAULT NULL::jsonb[], p_event_delays integer[] DEFAULT NULL::integer[], p_trace text DEFAULT NULL::text)
    returns TABLE(kind text, n integer, arn text, id bigint, error text, detail text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.try_lock_group(p_queue_id integer, p_group_id text)
    returns bigint
    language plpgsql set lock_timeout=1ms;

function queue.unbind(p_account_id text, p_region text, p_pattern text, p_binding_id bigint)
    returns TABLE(removed boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.unlease_messages(p_queue_id integer, p_shard integer, p_pos bigint, p_receive_count integer, p_ids bigint[], p_visible_at timestamp with time zone)
    returns boolean
    language plpgsql;

function queue.unlog_message(p_queue_id integer, p_shard integer, p_id bigint)
    returns text
    language plpgsql;

function queue.unset_role_account(p_role text)
    returns TABLE(found boolean)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.unsubscribe(pattern text, name text)
    returns boolean
    language plpgsql security definer set search_path=pg_catalog, queue, pg_temp set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.untag_queue(p_arn text, p_keys text[])
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.untag_schedule_group(p_account_id text, p_region text, p_name text, p_keys text[])
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.untag_topic(p_arn text, p_keys text[])
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.update_groups(p_group_keys bigint[])
    returns void
    language plpgsql;

function queue.update_in_flight_counting(p_queue_id integer, p_suspected boolean DEFAULT false)
    returns void
    language plpgsql;

function queue.update_mapping(p_account_id text, p_region text, p_mapping_id uuid, p_function_arn text, p_user_name text, p_options jsonb, p_filters jsonb, p_enabled boolean)
    returns TABLE(error text, mapping jsonb)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.user_policies(p_account_id text, p_name text)
    returns TABLE(policies text[])
    language sql stable;

function queue.verify_sandbox_number(p_account_id text, p_region text, p_phone_number text, p_password text)
    returns TABLE(error text)
    language plpgsql set jit=off set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_bitmapscan=off set enable_hashjoin=off set enable_mergejoin=off;

function queue.wake_deliveries()
    returns void
    language sql;

function queue.wake_schedules(p_due_at timestamp with time zone)
    returns void
    language plpgsql;

function queue.watch_queues(p_arns text[], p_watcher uuid, p_seconds integer[] DEFAULT NULL::integer[])
    returns TABLE(arn text)
    language sql;

function queue.xml_text(p_text text)
    returns text
    language sql immutable;

function queue.zone_offset(p_at timestamp with time zone, p_zone text)
    returns interval
    language sql stable;
