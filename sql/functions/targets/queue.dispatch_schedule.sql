-- queue.dispatch_schedule(schedule, occurrence, out of band, attempt, topic message): sends a schedule's message to its
-- queue or topic, in this transaction. p_attempt: 1, 2, …; p_topic_message: for a topic of SNS, the message as
-- scheduler/firing/topic_messages.py prepared it: {version, message_id, contents, bytes, facts}; for any target also
-- "trace", the trace header.
-- Returns [{"queue_name", "msg_id"}], a member a message; of a topic of SNS without ids.
-- Raises QU006 (the target refused the message; detail: the error's code as AWS names it), QU007 (detail: the version
-- that the topic message has to be signed with). Locks: those of send_messages, publish_events, publish_messages.
-- Called by: fire_occurrence, fire_schedule_retries, run_schedule.
do $$ begin     -- `create or replace` cannot rename the parameters that the previous release gave it
    if 'p_letter' = any ((
        select proargnames from pg_proc where oid = to_regprocedure('queue.dispatch_schedule(queue.schedule, timestamptz, boolean, int, jsonb)'))::text[])
    then
        drop function queue.dispatch_schedule(queue.schedule, timestamptz, boolean, int, jsonb);
    end if;
end $$;
create or replace function queue.dispatch_schedule(
    p_schedule queue.schedule, p_at timestamptz, p_out_of_band boolean, p_attempt int, p_topic_message jsonb)
returns jsonb
language plpgsql as $$
declare
    v_target jsonb := (p_schedule).target;
    v_message record;
begin
    if v_target ? 'Arn' then
        case queue.target_kind(v_target)
            when 'topic' then
                return queue.publish_schedule_to_topic(v_target, p_topic_message);
            when 'queue' then
                return queue.send_schedule_to_queue(p_schedule, p_at, p_attempt, p_topic_message ->> 'trace');
            else
                raise exception 'no such kind of target: %', v_target ->> 'Arn'
                    using errcode = 'QU006', detail = 'ValidationException';
        end case;
    end if;
    select * into v_message from queue.schedule_message(p_schedule, p_at, p_out_of_band);
    if v_target ? 'topic' then
        return (
            select coalesce(jsonb_agg(jsonb_build_object('queue_name', split_part(e.arn, ':', 6), 'msg_id', e.id)), '[]')
            from queue.publish_events((p_schedule).account_id, (p_schedule).region, v_target ->> 'topic',
                v_message.body, v_message.attributes, queue.as_headers(v_message.attributes),
                case when v_target ? 'body' then nullif(v_target -> 'facts', 'null')
                    else queue.body_facts(v_target -> 'message') end, null, p_topic_message ->> 'trace') e
            where e.arn is not null and e.error is null);
    end if;
    return queue.send_scheduled(
        format('arn:aws:sqs:%s:%s:%s', (p_schedule).region, (p_schedule).account_id, v_target ->> 'queue'),
        v_message.body, v_message.attributes, case when v_target ->> 'queue' like '%.fifo' then (p_schedule).name end,
        case when p_out_of_band then gen_random_uuid()::text
            else format('%s-%s', (p_schedule).schedule_id, extract(epoch from p_at)::bigint) end,
        p_topic_message ->> 'trace');
end $$;
