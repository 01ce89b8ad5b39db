-- Users of an account, and what their keys may do. A key without a user belongs to the account, and may do everything.

create table queue.account_user (
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    name text not null check (name ~ '^[A-Za-z0-9_+=,.@-]{1,64}$'),     -- as in IAM
    policies text[] not null,       -- names of built-in ones, or IAM's JSON
    created_at timestamptz not null default clock_timestamp(),
    primary key (account_id, name)
);
comment on table queue.account_user is 'Users of accounts, and the policies that say what they may do.';

alter table queue.access_key add column user_name text, add column expires_at timestamptz, add column last_used_at timestamptz;
alter table queue.bearer_key add column user_name text, add column expires_at timestamptz, add column last_used_at timestamptz;
alter table queue.access_key add foreign key (account_id, user_name) references queue.account_user;
alter table queue.bearer_key add foreign key (account_id, user_name) references queue.account_user;
comment on column queue.access_key.user_name is 'Whose key it is; null: the account''s own.';
comment on column queue.access_key.last_used_at is 'To within a minute.';
