-- queue.record_skipped_run: stores a run for an occurrence that will not fire. The run's error has the reason after the
-- texts of the run's failed attempts. Uses the index schedule_run_once.
create or replace function queue.record_skipped_run(p_schedule_id bigint, p_at timestamptz, p_note text) returns void
language sql as $$
insert into queue.schedule_run as r (schedule_id, scheduled_for, error) values (p_schedule_id, p_at, p_note)
on conflict (schedule_id, scheduled_for) where not out_of_band do update
set error = concat_ws('; ', r.error, excluded.error), recorded_at = excluded.recorded_at where r.fired_at is null
$$;
