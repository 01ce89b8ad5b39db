-- queue.claim_schedule_retries(limit): locks up to p_limit invocations that are to be tried again now, until the
-- caller's transaction ends. Returns a row each: id; the ARN of the target when it is a topic of SNS; the input, which
-- for such a topic is signed.
-- Locks: the rows, skipped when another worker has them. Index: schedule_retry_due. Called by: the worker `fire`.
create or replace function queue.claim_schedule_retries(p_limit int)
returns table (retry_id bigint, topic text, input text)
language plpgsql as $$
#variable_conflict use_column
begin
    perform queue.require_read_committed();
    perform set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '250ms', true);
    return query
    select r.retry_id, case when queue.target_kind(r.target) = 'topic' then r.target ->> 'Arn' end,
        queue.schedule_input(jsonb_populate_record(null::queue.schedule, to_jsonb(r)), r.scheduled_for, r.retries + 2)
    from queue.schedule_retry r
    where r.due_at <= clock_timestamp()
    order by r.due_at limit p_limit for update skip locked;
end $$;
