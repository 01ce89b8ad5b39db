-- Notifications of processes.

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
