-- queue.publish_to_endpoint: stores a delivery to a subscribed URL for each message. URLs that receive the same text
-- share a row of queue.notice. Uses the index notice_message.
create or replace function queue.publish_to_endpoint(
    p_topic queue.topic, p_subscription queue.subscription, p_publications jsonb[]) returns void
language plpgsql as $$
declare
    v_publication jsonb;
    v_message_id uuid;
    v_content jsonb;
    v_notice bigint;
begin
    foreach v_publication in array p_publications loop
        v_message_id := v_publication ->> 'message_id';
        v_content := coalesce(v_publication #> array['contents', p_subscription.protocol],
            v_publication #> '{contents,*}');
        select n.notice_id into v_notice from queue.notice n
        where n.message_id = v_message_id and n.raw = v_content ->> 'raw';
        if v_notice is null then
            insert into queue.notice (kind, topic_arn, message_id, raw, head, tail, attributes, trace)
            values ('Notification', p_topic.arn, v_message_id, v_content ->> 'raw', v_content ->> 'head',
                v_content ->> 'tail', v_publication -> 'attributes', v_publication ->> 'trace')
            returning notice_id into v_notice;
        end if;
        insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw,
            subscription_policy, topic_policy, dead_letter_arn)
        values (v_notice, p_topic.account_id, p_subscription.arn, p_subscription.endpoint, p_subscription.raw,
            p_subscription.attributes ->> 'DeliveryPolicy', p_topic.attributes ->> 'DeliveryPolicy',
            case when p_subscription.dead_letter_queue_allowed then p_subscription.dead_letter_arn end);
    end loop;
end $$;
