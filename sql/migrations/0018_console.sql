-- The console: who is signed in, and what was done.

create table queue.console_session (
    session_id text primary key,            -- SHA-256 of the cookie, in hexadecimal
    kind text not null check (kind in ('access', 'bearer')),
    key_id text not null,                   -- of that kind; the session ends when the key does
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null
);
create index console_session_expires_at on queue.console_session (expires_at);
create index console_session_key_id on queue.console_session (key_id);
comment on table queue.console_session is 'Browsers that are signed in to the console, each with the key that it signed in with.';

create table queue.audit (
    audit_id bigint primary key generated always as identity,
    happened_at timestamptz not null default clock_timestamp(),
    account_id text not null,
    actor text not null,                    -- ARN of the user or of the account''s root
    key_id text,                            -- null: nobody was asked for a key
    address text not null,                  -- where the request came from; empty where it is not known
    action text not null,                   -- as policies name it, such as sqs:PurgeQueue
    target text not null,                   -- of what: a queue''s name, a schedule''s, the id of a delivery
    filter jsonb not null default '{}',     -- which of it: ids, a filter, changed attributes
    affected bigint,                        -- how many; null: not known, or the action is under way or failed
    error text,                             -- why it failed
    settled_at timestamptz                  -- when its outcome was known; null: under way, or its process ended before
);
create index audit_account_id on queue.audit (account_id, audit_id);
create index audit_happened_at on queue.audit (happened_at);
comment on table queue.audit is 'What people did, a row an action, kept for 400 days. Rows are added before the action begins.';
