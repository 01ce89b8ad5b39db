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

-- queue.notify_watchers: notifies, at commit, the processes whose long polls wait for a queue. Costs one index probe if
-- no process waits. An unconditional NOTIFY would lock the database at commit and halve the rate of sending. If
-- `p_wakes_its_own` is true, the sending process wakes its long polls itself and keeps its registration. The session
-- names the sending process in the setting queue.watcher. Has no effect if the setting penstock.notify is off
-- (may_notify). Under REPEATABLE READ, does not delete registrations, because PostgreSQL raises an error if another
-- transaction has deleted a row since the snapshot. Skips watcher rows that another sender has locked.
create or replace function queue.notify_watchers(p_queue_id int, p_arn text, p_wakes_its_own boolean default false)
returns void
language plpgsql as $$
declare
    v_since timestamptz := clock_timestamp() - interval '5 seconds';
    v_own uuid := case when p_wakes_its_own then nullif(current_setting('queue.watcher', true), '')::uuid end;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform pg_notify('penstock', p_arn) from queue.watcher r
        where r.queue_id = p_queue_id and r.registered_at > v_since and queue.may_notify() limit 1;
        return;
    end if;
    if not exists (
        select from queue.watcher r
        where r.queue_id = p_queue_id and r.registered_at > v_since and r.watcher is distinct from v_own)
    then
        return;         -- This check usually suffices, and costs a third of a search for rows to delete.
    end if;
    if not queue.may_notify() then
        return;
    end if;
    delete from queue.watcher w
    where w.ctid = any (array(
        select r.ctid from queue.watcher r
        where r.queue_id = p_queue_id and r.registered_at > v_since and r.watcher is distinct from v_own
        for update skip locked));
    if found then
        perform pg_notify('penstock', p_arn);
    end if;
end $$;

-- queue.take_poll_slot: takes a slot in which a Lambda function's request can long-poll. Returns no row if all p_slots
-- slots are taken. The slot ends after p_seconds, because a frozen or killed environment does not release its slot. An
-- advisory lock admits one of a Lambda function's callers at a time.
create or replace function queue.take_poll_slot(p_function_name text, p_holder uuid, p_slots int, p_seconds float8)
returns table (slot int)
language plpgsql as $$
#variable_conflict use_column
begin
    perform pg_advisory_xact_lock(queue.lock_key(7, hashtext(p_function_name) & 2147483647, 0));
    return query
    insert into queue.poll_slot as taken (function_name, slot, holder, ends_at)
    select p_function_name, s.slot, p_holder, clock_timestamp() + p_seconds * interval '1 second'
    from generate_series(1, p_slots) s(slot)
    where not exists (
        select from queue.poll_slot p
        where p.function_name = p_function_name and p.slot = s.slot and p.ends_at > clock_timestamp())
    order by s.slot limit 1
    on conflict (function_name, slot) do update set holder = excluded.holder, ends_at = excluded.ends_at
    returning taken.slot;
end $$;

-- queue.release_poll_slot: releases the slot that take_poll_slot gave to a holder. Returns no row if the slot has ended
-- and belongs to another holder.
create or replace function queue.release_poll_slot(p_function_name text, p_holder uuid) returns table (slot int)
language sql as $$
update queue.poll_slot p set ends_at = '-infinity'
where p.function_name = p_function_name and p.holder = p_holder
returning p.slot
$$;

-- queue.watch_for_work: registers a process whose worker has no work for a notification. Has no effect if p_watcher is
-- null.
--   `p_work` is 0 for deliveries (wake_deliveries) and -1 for events of buses (wake_event_delivery).
-- A registration is valid for one notification and for five seconds. If no notification arrives within half a second,
-- the next call extends the registration to a minute, because the process can then no longer miss work. Later calls
-- extend the registration to two hours, in the last ten seconds of the minute and when less than 70 minutes are left.
-- The call that creates a registration can miss work that commits at that moment, so the process soon calls again.
create or replace function queue.watch_for_work(p_work int, p_watcher uuid) returns void
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    if p_watcher is null then
        return;
    end if;
    insert into queue.watcher (queue_id, watcher, registered_at)      -- The function watch_queues does the same.
    select p_work, p_watcher, v_now + case when r.registered_at is null then interval '0'
        when r.registered_at < v_now then interval '55 seconds' else interval '2 hours' end
    from (select max(w.registered_at) as registered_at from queue.watcher w
          where w.queue_id = p_work and w.watcher = p_watcher and w.registered_at > v_now - interval '5 seconds') r
    where r.registered_at is null or r.registered_at < v_now - interval '500 milliseconds'
        or r.registered_at between v_now and v_now + interval '10 seconds'
        or r.registered_at between v_now + interval '1 minute' and v_now + interval '70 minutes'
    on conflict do nothing;
end $$;
