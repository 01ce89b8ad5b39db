-- Who may call (QUEUE_ACCESS): access keys sign requests of the SQS API, bearer keys go with those of the REST API.
-- A key belongs to an account. A revoked one is kept, so that its id is never used again and its history can be read.
create table queue.access_key (
    access_key_id text primary key,
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    sealed_secret bytea not null,   -- AES-256-GCM under QUEUE_ENCRYPTION_KEY: signatures need the secret itself
    description text not null default '',
    created_at timestamptz not null default now(),
    revoked_at timestamptz
);
comment on table queue.access_key is 'Keys that sign requests of the SQS API (Signature Version 4); secrets are encrypted.';

create table queue.bearer_key (
    key_id text primary key,
    account_id text not null check (account_id ~ '^[0-9]{12}$'),
    secret_hash bytea not null,     -- SHA-256 of 30 random bytes in base64url: nothing that could be guessed
    description text not null default '',
    created_at timestamptz not null default now(),
    revoked_at timestamptz
);
comment on table queue.bearer_key is 'Keys of the REST API; only hashes of their secrets are stored.';
