-- queue.drop_schedule: deletes a schedule and its pending retries. `dropped` says whether the schedule existed. Locks
-- the schedule.
create or replace function queue.drop_schedule(p_account_id text, p_region text, p_group text, p_name text)
returns table (dropped boolean)
language plpgsql as $$
declare
    v_id bigint;
begin
    delete from queue.schedule s
    where s.account_id = p_account_id and s.region = p_region and s.group_name = p_group and s.name = p_name
    returning s.schedule_id into v_id;
    delete from queue.schedule_retry r where r.schedule_id = v_id;
    return query select v_id is not null;
end $$;
