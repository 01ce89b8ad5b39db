-- Names with dots in filter policies on the body are paths: policies from before are made so (sns/filter_policy/compile.py).
update queue.subscription s
set filter = (
    select jsonb_agg((
        select jsonb_agg(jsonb_set(k.key, '{0}', to_jsonb(replace(k.key ->> 0, '.', e'\x1f'))) order by k.n)
        from jsonb_array_elements(b.branch) with ordinality k(key, n)) order by b.n)
    from jsonb_array_elements(s.filter) with ordinality b(branch, n))
where s.filter_scope = 'MessageBody' and s.filter is not null and s.attributes ->> 'FilterPolicy' like '%.%';
update queue.binding s
set filter = (
    select jsonb_agg((
        select jsonb_agg(jsonb_set(k.key, '{0}', to_jsonb(replace(k.key ->> 0, '.', e'\x1f'))) order by k.n)
        from jsonb_array_elements(b.branch) with ordinality k(key, n)) order by b.n)
    from jsonb_array_elements(s.filter) with ordinality b(branch, n))
where s.filter is not null and s.filter_policy like '%.%';

alter table queue.subscription add column principal text;
comment on column queue.subscription.principal is 'The ARN of who has subscribed.';

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
    envelope text
);
comment on table queue.outgoing is 'Messages for phones, mobile apps, e-mail and functions.';
comment on column queue.outgoing.state is 'kept: nothing carries it; waiting: a webhook to a gateway does.';
comment on column queue.outgoing.dead_letter_arn is 'The dead-letter queue of the subscription.';
comment on column queue.outgoing.envelope is 'What that queue gets when a gateway cannot deliver the message; null: there is none.';
create index outgoing_kept on queue.outgoing (protocol, account_id, created_at) where state = 'kept';
alter table queue.webhook add column outgoing_id bigint;
comment on column queue.webhook.outgoing_id is 'The outgoing message that it carries to a gateway.';
-- Accounts of which more than QUOTA_WEBHOOKS of a protocol wait for their carrier, as last counted: they publish none until
-- fewer wait.
create table queue.outgoing_excess (
    account_id text not null,
    protocol text not null,
    waiting bigint not null,
    counted_at timestamptz not null,
    primary key (account_id, protocol)
);
comment on table queue.outgoing_excess is 'Accounts with more outgoing messages of a protocol than QUOTA_WEBHOOKS.';
create index outgoing_account on queue.outgoing (account_id, outgoing_id);

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
