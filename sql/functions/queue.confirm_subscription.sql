-- queue.confirm_subscription(topic's ARN, token, authenticated unsubscribe): confirms the pending subscription of that
-- token; a token that has been used is good for the same subscription again.
-- Returns one row: arn, error (NotFound: the topic; BadToken: unknown, or older than three days).
-- Called by: ConfirmSubscription.
create or replace function queue.confirm_subscription(p_topic text, p_token text, p_authenticates boolean)
returns table (arn text, error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_topic_id int := (select t.topic_id from queue.topic t where t.arn = p_topic);
    v_arn text;
begin
    update queue.subscription s
    set confirmed = true, authenticates_unsubscribe = s.authenticates_unsubscribe or p_authenticates
    where s.token = p_token and s.topic_id = v_topic_id and (s.confirmed or s.token_expires_at > clock_timestamp())
    returning s.arn into v_arn;
    return query select v_arn, case when v_topic_id is null then 'NotFound' when v_arn is null then 'BadToken' end;
end $$;
