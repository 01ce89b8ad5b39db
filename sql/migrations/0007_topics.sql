-- Topics and their subscriptions (SNS).

create table queue.topic (
    topic_id int generated always as identity primary key,
    account_id text not null,
    region text not null,
    name text not null,
    arn text not null generated always as ('arn:aws:sns:' || region || ':' || account_id || ':' || name) stored unique,
    fifo boolean not null generated always as (right(name, 5) = '.fifo') stored,
    created_at timestamptz not null default clock_timestamp(),
    attributes jsonb not null,      -- as the user wrote them; the columns below are read from here
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
    owner text not null,            -- account of who subscribed
    protocol text not null,         -- sqs, http, https
    endpoint text not null,         -- ARN of a queue, or a URL
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
    unique (topic_id, protocol, endpoint)
);
create index subscription_owner on queue.subscription (owner, subscription_id);
create index subscription_token on queue.subscription (token);

-- FIFO topics: ids seen in the last five minutes.
create table queue.topic_deduplication (
    topic_id int not null references queue.topic on delete cascade,
    scope text not null,            -- '' for the whole topic, else the message group
    deduplication_id text not null,
    message_id uuid not null,
    sequence_number bigint not null,
    expires_at timestamptz not null,
    primary key (topic_id, scope, deduplication_id)
);
create index topic_deduplication_expires_at on queue.topic_deduplication (expires_at);
create sequence queue.topic_sequence;

-- One message on its way to a topic's subscriptions.
create type queue.publication as (
    n int,
    message_id uuid,
    sequence_number bigint,         -- FIFO topics
    contents jsonb,                 -- by protocol, "*" for the others: {raw, head, tail}
    attributes jsonb,               -- message attributes in the shape of SQS's JSON
    attribute_bytes int,
    attribute_facts jsonb,          -- what filter policies compare
    body_facts jsonb,
    group_id text,
    deduplication_id text,
    subject text,
    error text
);

-- Routed events: patterns of routing keys, bound to queues and URLs.
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
