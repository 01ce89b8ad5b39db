-- Webhooks that may not be sent now wait for their host or for their endpoint, either of one account, instead of for their
-- URL. The claims of invocations that are tried again go round the accounts.

alter table queue.webhook add column waits_for text;
comment on column queue.webhook.waits_for is
    'While it waits: the row of queue.lane that it waits for. Null: the previous release set it aside, by "lane".';
create index webhook_waits_for on queue.webhook (waits_for, due_at, webhook_id) where state = 'pending' and waiting;

-- The previous release makes rows without account; queue.claim_webhooks ends them. Its index webhook_waiting goes with it.
alter table queue.lane add column account_id text, add column host text;
comment on table queue.lane is
    'Hosts with too many requests under way, and endpoints that fail or are throttled, each of one account.';
comment on column queue.lane.host is 'Account, host and port (queue.webhook_host); the row of a host itself has it as lane.';
create index lane_account_next_at on queue.lane (account_id, next_at);
create index lane_paused on queue.lane (host) where paused_until is not null;

create index schedule_retry_account_due on queue.schedule_retry (account_id, due_at, retry_id);

-- How many times schedules of an account fired in the last seconds, a row a batch and account, for QUOTA_FIRINGS_PER_SECOND.
-- Rows are only added, so nobody waits for anybody. Unlogged: without it an account may fire once more.
create unlogged table queue.recent_firing (
    account_id text not null,
    fired_at timestamptz not null default clock_timestamp(),
    number int not null
);
create index recent_firing_account on queue.recent_firing (account_id, fired_at);
comment on table queue.recent_firing is 'Firings of the last seconds, by account.';

-- Accounts with more webhooks than QUOTA_WEBHOOKS, as last counted: they publish none until fewer wait.
create table queue.webhook_excess (
    account_id text primary key,
    waiting bigint not null,
    counted_at timestamptz not null
);
comment on table queue.webhook_excess is 'Accounts with more webhooks than QUOTA_WEBHOOKS.';
