-- Messages on their way to URLs: a notice a publish, a webhook a URL. Worked on by `deliver`.

-- What is delivered, once for all URLs that get the same text: notifications and confirmations of SNS, routed events.
create table queue.notice (
    notice_id bigint generated always as identity primary key,
    created_at timestamptz not null default clock_timestamp(),
    kind text not null,             -- Notification, SubscriptionConfirmation, UnsubscribeConfirmation, event
    topic_arn text,                 -- of SNS; of an event, what stands for it in an envelope
    routing_key text,               -- of an event
    message_id uuid not null,
    raw text not null,              -- the message itself; of a confirmation, all of it
    head text,                      -- an envelope is head, the subscription's ARN, tail
    tail text,
    headers jsonb,                  -- of an event, as the publisher gave them
    attributes jsonb                -- message attributes in the shape of SQS's JSON: for raw dead letters
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index notice_message on queue.notice (message_id);
comment on table queue.notice is 'What a publish says to URLs; goes with the last of its webhooks.';

-- One URL that is to get a notice. The row goes when it has been delivered; exhausted ones stay.
create table queue.webhook (
    webhook_id bigint generated always as identity primary key,
    notice_id bigint not null,
    created_at timestamptz not null default clock_timestamp(),
    account_id text not null,       -- who may list it and try it again
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
    lease uuid,                     -- the claim that holds it: nobody else may write the outcome
    waiting boolean not null default false, -- set aside, in its lane: the endpoint is paused, slow or throttled
    -- Deliveries that stand in each other's way: those to one URL; a throttled subscription is on its own.
    lane text not null generated always as (endpoint || case
        when position('maxReceivesPerSecond' in coalesce(subscription_policy, '') || coalesce(topic_policy, '')) > 0
        then ' ' || coalesce(subscription_arn, '') else '' end) stored,
    last_status int,                -- null: no answer came
    last_error text
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index webhook_due on queue.webhook (due_at, webhook_id) where state = 'pending' and not waiting;
create index webhook_waiting on queue.webhook (lane, due_at, webhook_id) where state = 'pending' and waiting;
create index webhook_exhausted on queue.webhook (account_id, webhook_id) where state = 'exhausted';
create index webhook_notice on queue.webhook (notice_id);
comment on table queue.webhook is 'Deliveries under way and given up; one that succeeded is deleted.';

-- Endpoints with something special about them: failing, throttled, or with webhooks that wait. A healthy one has no row.
create table queue.lane (
    lane text primary key,
    next_at timestamptz not null,   -- look then whether a waiting webhook may be sent
    failures int not null default 0, -- attempts that failed in a row
    pauses int not null default 0,  -- in a row, without an answer in between
    paused_until timestamptz,       -- not null: paused, and from then on one webhook at a time may try
    probe bigint,                   -- the webhook that tries
    paced_at timestamptz not null default '-infinity' -- throttled: up to then its rate is used up
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);
create index lane_next_at on queue.lane (next_at);
