-- queue.change_topic: replaces the given attributes. A null value removes an attribute.
--   `NotFound` means that the topic does not exist.
--   `LargeMessages` means that the MaximumMessageSize exceeds 256 KiB. A topic for such large messages can have at most
--     100 subscriptions, of queues, Firehose or Lambda (SetTopicAttributes, API reference).
-- Locks the topic's row. The function add_subscription takes a shared lock on this row.
create or replace function queue.change_topic(p_arn text, p_attributes jsonb) returns table (error text)
language plpgsql as $$
declare
    v_topic_id int;
begin
    select t.topic_id into v_topic_id from queue.topic t where t.arn = p_arn for update;
    if v_topic_id is null then
        return query select 'NotFound'::text;
    elsif (p_attributes ->> 'MaximumMessageSize')::int > 262144 and (
            exists (select from queue.subscription s
                where s.topic_id = v_topic_id and s.protocol not in ('sqs', 'firehose', 'lambda'))
            or (select count(*) from queue.subscription s where s.topic_id = v_topic_id) > 100) then
        return query select 'LargeMessages'::text;
    else
        update queue.topic t set attributes = jsonb_strip_nulls(t.attributes || p_attributes)
        where t.topic_id = v_topic_id;
        return query select null::text;
    end if;
end $$;
