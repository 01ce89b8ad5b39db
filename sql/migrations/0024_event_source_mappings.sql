-- Event source mappings: queues that trigger functions.
create table queue.event_source_mapping (
    mapping_id uuid primary key default gen_random_uuid(),
    account_id text not null,
    region text not null,
    queue_arn text not null,
    function_arn text not null,     -- or the URL that batches are posted to
    user_name text,                 -- who made or changed it, whose rights count; null: the account's root user
    options jsonb not null,         -- members of the API as they were given: BatchSize, FilterCriteria, …
    filters jsonb,                  -- compiled filter policies, any of which a message has to pass; null: no filter
    enabled boolean not null,
    reason text not null default 'USER_INITIATED',          -- why it is in its state
    last_result text not null default 'No records processed',
    tags jsonb not null default '{}',
    updated_at timestamptz not null default clock_timestamp(),
    revision bigint not null default 1,                     -- grows with each change that its poller has to know
    poller_id uuid,                 -- who polls for it, as long as that poller is alive
    unique (queue_arn, function_arn)
);
create index event_source_mapping_account on queue.event_source_mapping (account_id, region, mapping_id);
create index event_source_mapping_poller on queue.event_source_mapping (poller_id) where enabled;
comment on table queue.event_source_mapping is 'Event source mappings of AWS Lambda: which function gets the messages of which queue.';

create unlogged table queue.poller (
    poller_id uuid primary key,
    alive_until timestamptz not null
);
comment on table queue.poller is 'Processes that poll for event source mappings. Lost in a crash: then others take over.';
