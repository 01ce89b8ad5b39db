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
