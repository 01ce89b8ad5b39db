-- queue.list_schedule_runs(account, region, group, name, before, limit): the outcomes of a schedule's occurrences, the
-- newest first, those before p_before (null: all). One row without run_id: the schedule has no runs; no row: there is
-- no such schedule. fired_at null: it failed (it may be tried again) or was skipped; error says why.
-- Index: schedule_run_schedule.
create or replace function queue.list_schedule_runs(
    p_account_id text, p_region text, p_group text, p_name text, p_before bigint, p_limit int)
returns table (run_id bigint, scheduled_for timestamptz, out_of_band boolean, attempts int, fired_at timestamptz,
    message_ids jsonb, error text)
language sql stable as $$
select r.run_id, r.scheduled_for, r.out_of_band, r.attempts, r.fired_at, r.message_ids, r.error
from queue.schedule s
left join lateral (
    select * from queue.schedule_run r
    where r.schedule_id = s.schedule_id and r.run_id < coalesce(p_before, 9223372036854775807)
    order by r.run_id desc limit p_limit) r on true
where s.account_id = p_account_id and s.region = p_region and s.group_name = p_group and s.name = p_name
order by r.run_id desc
$$;
