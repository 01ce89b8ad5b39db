-- Subscriptions of URLs that were ended, for as long as their endpoint may take that back.

create table queue.former_subscription (
    topic_id int not null references queue.topic on delete cascade,
    protocol text not null,
    endpoint text not null,
    subscription jsonb not null,    -- the row that was deleted
    token text not null unique,     -- what its UnsubscribeConfirmation told the endpoint
    expires_at timestamptz not null,
    primary key (topic_id, protocol, endpoint)
);
create index former_subscription_expires_at on queue.former_subscription (expires_at);
comment on table queue.former_subscription is 'What the SubscribeURL of an UnsubscribeConfirmation restores.';

-- What maintenance looks for.
create index subscription_pending on queue.subscription (token_expires_at) where not confirmed;
