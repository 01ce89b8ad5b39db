-- queue.send_scheduled(arn, body, attributes, group, deduplication id, trace header): sends one message; in a standard
-- queue the group is its tenant (fair queues), and the deduplication id is ignored. Returns [{"queue_name", "msg_id"}].
-- Raises QU006 (detail: the error's code). Locks: those of send_messages. Called by: dispatch_schedule,
-- send_schedule_to_queue.
drop function if exists queue.send_scheduled(text, text, jsonb, text, text);
create or replace function queue.send_scheduled(
    p_arn text, p_body text, p_attributes jsonb, p_group text, p_deduplication_id text,
    p_trace text default null)
returns jsonb
language plpgsql as $$
declare
    v_fifo boolean := right(p_arn, 5) = '.fifo';
    v_sent record;
begin
    select s.id, s.error, s.detail into v_sent
    from queue.send_messages(array[p_arn], array[gen_random_uuid()], array[p_body],
        array[queue.message_size(p_body, p_attributes)], array[p_attributes],
        array[queue.system_attributes(case when not v_fifo then p_group end, p_trace)], null,
        case when v_fifo then array[p_group] end,
        case when v_fifo and p_deduplication_id is not null then array[p_deduplication_id] end) s;
    if v_sent.error is not null then
        raise exception '%', case v_sent.error
                when 'QueueDoesNotExist' then format('Queue ''%s'' does not exist', split_part(p_arn, ':', 6))
                when 'MessageTooLong' then format('The message is longer than the queue''s %s bytes', v_sent.detail)
                else concat_ws(': ', v_sent.error, v_sent.detail) end
            using errcode = 'QU006', detail = case v_sent.error
                when 'QueueDoesNotExist' then 'AWS.SimpleQueueService.NonExistentQueue'
                when 'MessageTooLong' then 'InvalidParameterValue' else v_sent.error end;
    end if;
    return jsonb_build_array(jsonb_build_object('queue_name', split_part(p_arn, ':', 6), 'msg_id', v_sent.id));
end $$;
