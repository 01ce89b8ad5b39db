-- What signs the messages of SNS.

create table queue.signing_key (
    key_id text primary key check (key_id ~ '^[0-9a-f]{32}$'),
    created_at timestamptz not null default clock_timestamp(),
    retired_at timestamptz,         -- when a newer one took over; its certificate is served 30 days longer
    sealed boolean not null,        -- the private key is encrypted with QUEUE_ENCRYPTION_KEY
    private_key bytea not null,
    certificate text not null
);
