-- queue.invoke_function(schedule, occurrence, attempt, trace): stores the invocation of the function that a schedule's
-- target names, which the worker `deliver` carries. The notice keeps the schedule, since each attempt has an input of its
-- own (queue.webhook_body); the webhook keeps in subscription_policy how often it is tried, and until when: seconds since 1970.
-- Returns [{"queue_name": null, "msg_id": null, "message_id"}]. Raises QU006 for a function of another account, and
-- when too many webhooks of the account wait. Source: RetryPolicy (EventBridge Scheduler API Reference).
-- Index: webhook_excess_pkey.
create or replace function queue.invoke_function(p_schedule queue.schedule, p_at timestamptz, p_attempt int, p_trace text)
returns jsonb
language plpgsql as $$
declare
    v_target jsonb := (p_schedule).target;
    v_account text := (p_schedule).account_id;
    v_notice queue.notice;
begin
    if split_part(v_target ->> 'Arn', ':', 5) <> v_account then
        raise exception 'The function belongs to another account' using errcode = 'QU006', detail = 'AccessDeniedException';
    elsif exists (select from queue.webhook_excess e where e.account_id = v_account) then
        raise exception 'too many webhooks wait for their delivery' using errcode = 'QU006', detail = 'Throttled';
    end if;
    insert into queue.notice (kind, message_id, raw, headers, trace)
    values ('schedule', gen_random_uuid(), queue.schedule_input(p_schedule, p_at, p_attempt), jsonb_build_object(
        'at', p_at, 'earlier_attempts', p_attempt - 1, 'schedule', jsonb_build_object(
            'schedule_id', (p_schedule).schedule_id, 'account_id', v_account, 'region', (p_schedule).region,
            'group_name', (p_schedule).group_name, 'name', (p_schedule).name, 'target', v_target)), p_trace)
    returning * into v_notice;
    insert into queue.webhook (notice_id, account_id, endpoint, raw, subscription_policy, dead_letter_arn)
    values (v_notice.notice_id, v_account, v_target ->> 'Arn', true, json_build_object(
            'MaximumRetryAttempts', greatest(0, coalesce((v_target -> 'RetryPolicy' ->> 'MaximumRetryAttempts')::int, 185) - p_attempt + 1),
            'Until', ceil(extract(epoch from p_at)) + queue.schedule_window(p_schedule)
                + coalesce((v_target -> 'RetryPolicy' ->> 'MaximumEventAgeInSeconds')::int, 86400)),
        v_target -> 'DeadLetterConfig' ->> 'Arn');
    perform queue.wake_webhooks();
    return jsonb_build_array(jsonb_build_object('queue_name', null, 'msg_id', null, 'message_id', v_notice.message_id));
end $$;
