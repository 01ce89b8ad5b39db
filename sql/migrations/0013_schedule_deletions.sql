-- What was deleted with a ClientToken of EventBridge Scheduler: the same request succeeds again, for a day.
create table queue.schedule_deletion (
    account_id text not null,
    region text not null,
    group_name text not null,
    name text not null,             -- '' for the group itself
    client_token text not null,
    deleted_at timestamptz not null default clock_timestamp(),
    primary key (account_id, region, group_name, name, client_token)
);
create index schedule_deletion_deleted_at on queue.schedule_deletion (deleted_at);
