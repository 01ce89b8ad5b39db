-- Who receives from which queue.
create unlogged table queue.receiver (
    queue_id int not null,
    caller text not null,           -- ARN of the user, or with the key id that the request names
    agent text not null,            -- User-Agent, up to 200 characters
    address text not null,          -- the client's IP address
    first_at timestamptz not null,
    last_at timestamptz not null,   -- the end of its last receive, also of an empty one
    received bigint not null,       -- messages, since first_at
    primary key (queue_id, caller, agent, address)
) with (fillfactor = 70);
comment on table queue.receiver is 'Who receives, by processes of the container, each ten seconds; kept for a day. Lost in a crash.';
