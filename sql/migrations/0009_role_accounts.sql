-- Whom the database roles of applications stand for in the SQL interface.

create table queue.role_account (
    role_name name primary key,     -- of a login role, or of a group that login roles inherit from
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    region text not null check (region ~ '^[a-z0-9-]{1,32}$'),
    created_at timestamptz not null default clock_timestamp()
);
comment on table queue.role_account is 'Which account, and which region, a database role stands for in the SQL interface.';
