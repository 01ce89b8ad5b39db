-- The metrics job: the zone is part of a day's key, and what a run has handled is on record.

-- A day is one of a time zone: days of several zones can be stored beside each other. Windows of a minute and of an hour
-- are of no zone: ''. Days that the previous release computed have '', too, until the job next runs and gives them its
-- zone. Reads go on while the indexes are built; the key is exchanged at the end.
alter table queue.metrics_window add column zone text not null default '';
alter table queue.metrics_latency add column zone text not null default '';
create unique index metrics_window_key on queue.metrics_window (window_seconds, queue_id, group_id, starts_at, zone);
create unique index metrics_latency_key
    on queue.metrics_latency (window_seconds, queue_id, group_id, measure, starts_at, zone);
alter table queue.metrics_window drop constraint metrics_window_pkey,
    add constraint metrics_window_pkey primary key using index metrics_window_key;
alter table queue.metrics_latency drop constraint metrics_latency_pkey,
    add constraint metrics_latency_pkey primary key using index metrics_latency_key;

alter table queue.metrics_run
    add column zone text,                   -- whose days it computed
    add column recorded_from pg_snapshot,   -- with recorded_to: it handled what the second snapshot sees and the first
    add column recorded_to pg_snapshot;     -- does not; null: it was asked for a span of time, or handled everything
comment on column queue.metrics_run.rows_written is
    'Rows that were added, changed or removed: a row that is computed again and found equal does not count.';

create table queue.metrics_range (
    zone text primary key,
    run_id bigint not null,                 -- the last run that handled what was recorded since its predecessor
    handled pg_snapshot not null,           -- what this snapshot sees is in the windows
    handled_at timestamptz not null         -- its time
);
comment on table queue.metrics_range is
    'Which recorded rows the windows of a zone contain: the next run begins where this range ends. Runs over a span that '
    'was asked for (--from, --to) leave it as it is.';

create table queue.metrics_open (
    zone text not null,
    queue_id int not null,
    minute_at timestamptz not null,
    run_id bigint not null,                 -- that stored it; greater than that of metrics_range: it did not finish
    counts bigint[] not null,
    primary key (zone, queue_id, minute_at, run_id)
);
comment on table queue.metrics_open is
    'What messages that had not been recorded in the history contributed to the minutes of their queue, as the last run of '
    'the zone counted them. The next run subtracts it, and so sees what is new.';

-- Since when the history of a queue is complete; null: since the queue was made. Set when its attribute history becomes
-- true again.
alter table queue.queues add column history_since timestamptz;

create table queue.history_drop (
    name text primary key,                  -- history, webhook_history, schedule_run
    dropped_before timestamptz not null
);
comment on table queue.history_drop is 'Rows of a history that were recorded before this time may have been dropped.';

-- Of an installation that exists, what was recorded before the oldest rows that are there may have been removed.
insert into queue.history_drop (name, dropped_before)
select p.relname, min(to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp at time zone 'utc')
from pg_inherits i
join pg_class c on c.oid = i.inhrelid
join pg_class p on p.oid = i.inhparent
where i.inhparent in ('queue.history'::regclass, 'queue.webhook_history'::regclass)
    and c.relname ~ '^(webhook_)?history_[0-9]{8}$'
group by p.relname
union all
select 'schedule_run', min(r.recorded_at) from queue.schedule_run r having min(r.recorded_at) is not null;
