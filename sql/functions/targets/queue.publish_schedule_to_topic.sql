-- queue.publish_schedule_to_topic(target, topic message): publishes to the topic of SNS that a schedule's target names
-- by ARN, as Publish does. p_topic_message: {version, publication, trace}, made by scheduler/firing/topic_messages.py; the
-- publication is as publish_messages takes it. Returns [{"queue_name": null, "msg_id": null, "message_id"}].
-- Raises QU006, QU007 as dispatch_schedule says. Locks: those of publish_messages.
create or replace function queue.publish_schedule_to_topic(p_target jsonb, p_topic_message jsonb) returns jsonb
language plpgsql as $$
declare
    v_topic text := p_target ->> 'Arn';
    v_group text := case when right(v_topic, 5) = '.fifo' then p_target -> 'SqsParameters' ->> 'MessageGroupId' end;
    v_row record;
begin
    if right(v_topic, 5) = '.fifo' and v_group is null then
        raise exception 'Invalid parameter: The MessageGroupId parameter is required for FIFO topics'
            using errcode = 'QU006', detail = 'InvalidParameter';
    end if;
    select p.message_id, p.error, p.detail into v_row
    from queue.publish_messages(array[(p_topic_message -> 'publication')
            || jsonb_strip_nulls(jsonb_build_object('trace', p_topic_message -> 'trace', 'group_id', v_group))],
        v_topic, coalesce(p_topic_message ->> 'version', '')) p;
    if v_row.error = 'OtherSignatureVersion' then
        raise exception 'the message is not signed with the topic''s version'
            using errcode = 'QU007', detail = v_row.detail;
    elsif v_row.error is not null then
        raise exception '%', case v_row.error when 'NotFound' then 'Topic does not exist'
                when 'MessageTooLong' then 'Invalid parameter: Message too long'
                when 'RequestThrottled' then 'too many webhooks wait for their delivery' else v_row.error end
            using errcode = 'QU006', detail = case v_row.error when 'MessageTooLong' then 'InvalidParameter'
                when 'RequestThrottled' then 'Throttled' else v_row.error end;
    end if;
    return jsonb_build_array(jsonb_build_object('queue_name', null, 'msg_id', null, 'message_id', v_row.message_id));
end $$;
