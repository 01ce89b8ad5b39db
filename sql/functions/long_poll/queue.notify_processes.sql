-- queue.notify_processes: notifies the channel `penstock` at commit, unless the setting penstock.notify is off.
create or replace function queue.notify_processes(p_name text) returns void
language plpgsql as $$
begin
    if queue.may_notify() then
        perform pg_notify('penstock', p_name);
    end if;
end $$;
