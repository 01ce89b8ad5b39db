-- What became of the invocations of event source mappings.
alter table queue.event_source_mapping
    add column invocations bigint not null default 0,
    add column failed_invocations bigint not null default 0,
    add column failing_since timestamptz;
comment on column queue.event_source_mapping.failing_since is 'The first of the failed invocations since the last that succeeded; null: the last one did.';
