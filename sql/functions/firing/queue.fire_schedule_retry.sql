-- queue.fire_schedule_retry(retry, topic message): invokes the target once more. On success the retry is deleted and
-- the run is recorded as fired. Raises as dispatch_schedule; QU008 when the run had fired before. Index:
-- schedule_run_once.
-- Called by: fire_schedule_retries.
do $$ begin     -- `create or replace` cannot rename the parameters that the previous release gave it
    if 'p_letter' = any ((
        select proargnames from pg_proc where oid = to_regprocedure('queue.fire_schedule_retry(queue.schedule_retry, jsonb)'))::text[])
    then
        drop function queue.fire_schedule_retry(queue.schedule_retry, jsonb);
    end if;
end $$;
create or replace function queue.fire_schedule_retry(p_retry queue.schedule_retry, p_topic_message jsonb) returns void
language plpgsql as $$
declare
    v_ids jsonb := queue.dispatch_schedule(jsonb_populate_record(null::queue.schedule, to_jsonb(p_retry)),
        p_retry.scheduled_for, false, p_retry.retries + 2, p_topic_message);
begin
    insert into queue.schedule_run as r (schedule_id, scheduled_for, attempts, fired_at, message_ids)
    values (p_retry.schedule_id, p_retry.scheduled_for, p_retry.retries + 2, clock_timestamp(), v_ids)
    on conflict (schedule_id, scheduled_for) where not out_of_band do update
    set attempts = r.attempts + 1, fired_at = excluded.fired_at, message_ids = excluded.message_ids, error = null,
        recorded_at = excluded.recorded_at
    where r.fired_at is null;
    if not found then
        raise exception 'this occurrence has fired before' using errcode = 'QU008';
    end if;
    update queue.schedule s
    set fire_count = s.fire_count + 1, last_fired_at = clock_timestamp(), last_error = null, consecutive_failures = 0
    where s.schedule_id = p_retry.schedule_id;
    delete from queue.schedule_retry r where r.retry_id = p_retry.retry_id;
end $$;
