-- Notifications of processes, and queues for which long polls wait.

-- queue.guard_prepare: makes PREPARE TRANSACTION fail in this transaction, unless the setting penstock.notify is off.
-- The error names this setting (may_notify). Has no effect on a commit. Functions of the SQL interface that send
-- messages call this function if the server allows prepared transactions. Costs about 10 microseconds, once in a
-- transaction.
create or replace function queue.guard_prepare() returns void
language plpgsql as $$
begin
    if queue.may_notify() and current_setting('queue.guarded', true) is distinct from 'on' then
        insert into queue.prepare_guard default values;
        perform set_config('queue.guarded', 'on', true);
    end if;
end $$;

-- queue.may_notify: returns false if the setting penstock.notify of the session, role or database is off. A transaction
-- with this setting does not call NOTIFY, so a two-phase commit can prepare the transaction. Waiting processes find the
-- transaction's changes by polling.
create or replace function queue.may_notify() returns boolean
language sql stable
return coalesce(current_setting('penstock.notify', true), '') not in ('off', 'false', 'no', '0');

-- queue.notify_processes: notifies the channel `penstock` at commit, unless the setting penstock.notify is off.
create or replace function queue.notify_processes(p_name text) returns void
language plpgsql as $$
begin
    if queue.may_notify() then
        perform pg_notify('penstock', p_name);
    end if;
end $$;

-- queue.ready_queues: returns the queues of a list that have a message to receive now, or that do not exist.
create or replace function queue.ready_queues(p_arns text[]) returns table (arn text)
language sql as $$
select k.arn from queue.poll_queues(p_arns) k where k.arn is not null
$$;

-- queue.watch_queues: registers a process for a notification about queues. The next sender to one of the queues
-- notifies the channel `penstock` with the queue's ARN. A registration is valid for one notification and for p_seconds,
-- at least five. If p_seconds is null, the registration is valid for five seconds. The caller polls the queues once
-- more after the commit, because a message can arrive before the registration.
create or replace function queue.watch_queues(p_arns text[], p_watcher uuid, p_seconds int[] default null)
returns table (arn text)
language sql as $$
insert into queue.watcher (queue_id, watcher, registered_at)
select q.queue_id, p_watcher, clock_timestamp() + greatest(0, coalesce(u.seconds, 5) - 5) * interval '1 second'
from unnest(p_arns, p_seconds) u(arn, seconds) join queue.queues q on q.arn = u.arn
on conflict do nothing
returning (select q.arn from queue.queues q where q.queue_id = watcher.queue_id)
$$;
