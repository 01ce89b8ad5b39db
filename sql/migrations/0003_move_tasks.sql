-- Tasks that move the messages of a dead-letter queue (StartMessageMoveTask).
create table queue.move_task (
    task_id uuid primary key default gen_random_uuid(),
    queue_id int not null,          -- the source
    destination_arn text,           -- null: each message returns to the queue that it came from
    maximum_per_second int check (maximum_per_second between 1 and 500),
    status text not null default 'RUNNING' check (status in ('RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED')),
    failure_reason text,
    to_move bigint not null,        -- messages that could be received when the task was started
    moved bigint not null default 0,
    started_at timestamptz not null default clock_timestamp(),
    paced_at timestamptz not null default clock_timestamp()     -- up to then its rate is used up; no rate: the last step
) with (fillfactor = 60);
create index move_task_queue on queue.move_task (queue_id, started_at);
create unique index move_task_running on queue.move_task (queue_id) where status = 'RUNNING';
comment on table queue.move_task is 'Message move tasks: those that run, and the last ones of each queue.';
comment on column queue.history.outcome is 'deleted, purged, expired, dead_lettered, moved (by a message move task)';
