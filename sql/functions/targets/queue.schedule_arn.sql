-- queue.schedule_arn: returns the schedule's ARN in the format of EventBridge Scheduler.
create or replace function queue.schedule_arn(p_schedule queue.schedule) returns text
language sql immutable parallel safe
return format('arn:aws:scheduler:%s:%s:schedule/%s/%s', (p_schedule).region, (p_schedule).account_id,
    (p_schedule).group_name, (p_schedule).name);
