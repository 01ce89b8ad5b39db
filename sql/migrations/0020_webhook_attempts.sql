-- The log of attempts to deliver, and endpoints that somebody stopped.

create sequence queue.webhook_attempt_id;
create table queue.webhook_attempt (
    recorded_at timestamptz not null default clock_timestamp(),    -- when its outcome was written
    attempt_id bigint not null default nextval('queue.webhook_attempt_id'),
    account_id text not null,
    webhook_id bigint not null,
    message_id uuid not null,
    subscription_arn text,          -- its topic's ARN is a part of it; null: of an event
    endpoint text not null,
    attempt int not null,           -- 1 is the first
    outcome text not null,          -- delivered, retried, given_up
    status int,                     -- null: no answer came
    error text,                     -- null: delivered
    duration_ms int,
    sent_bytes int,                 -- the request, with its head
    answer text                     -- how the answer began, where WEBHOOK_LOG_ANSWERS is on
) partition by range (recorded_at);
alter sequence queue.webhook_attempt_id owned by queue.webhook_attempt.attempt_id;
create table queue.webhook_attempt_default partition of queue.webhook_attempt default;
create index webhook_attempt_account_id on queue.webhook_attempt (account_id, attempt_id);
comment on table queue.webhook_attempt is 'What became of each attempt to deliver, kept as long as the history of messages.';

alter table queue.lane add column stopped boolean not null default false;
comment on column queue.lane.stopped is 'Somebody paused it: it stays paused until somebody resumes it.';
