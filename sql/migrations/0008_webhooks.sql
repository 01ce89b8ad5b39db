-- Messages on their way to URLs.

-- What is delivered, once for all URLs that get the same text: notifications and confirmations of SNS, routed events.
create table queue.notice (
    notice_id bigint generated always as identity primary key,
    created_at timestamptz not null default clock_timestamp(),
    kind text not null,             -- Notification, SubscriptionConfirmation, UnsubscribeConfirmation, event
    topic_arn text,                 -- of SNS
    routing_key text,               -- of an event
    message_id uuid not null,
    raw text not null,              -- the message itself; of a confirmation, all of it
    head text,                      -- an envelope is head, the subscription's ARN, tail
    tail text,
    headers jsonb                   -- of an event, as the publisher gave them
);

-- One URL that is to get a notice. The row goes when it has been delivered; exhausted ones stay.
create table queue.webhook (
    webhook_id bigint generated always as identity primary key,
    notice_id bigint not null references queue.notice,
    subscription_arn text,          -- SNS; else the binding of an event
    binding_id bigint,
    endpoint text not null,
    raw boolean not null,           -- the message alone, without envelope
    subscription_policy text,       -- DeliveryPolicy of the subscription and of its topic when it was published
    topic_policy text,
    dead_letter_arn text,
    state text not null default 'pending' check (state in ('pending', 'exhausted')),
    attempts int not null default 0,
    due_at timestamptz not null default clock_timestamp(),
    leased_until timestamptz,       -- whoever delivers it now has until then
    last_status int,
    last_error text,
    created_at timestamptz not null default clock_timestamp()
);
create index webhook_due on queue.webhook (due_at) where state = 'pending';
create index webhook_notice on queue.webhook (notice_id);
create index notice_message on queue.notice (message_id);
