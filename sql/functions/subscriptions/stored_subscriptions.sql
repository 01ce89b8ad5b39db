-- Reads and changes of stored subscriptions.

-- queue.describe_subscription: returns a subscription with its attributes as the user wrote them, its topic's delivery
-- policy, and the status of its replay, if it has a ReplayPolicy. Returns no row for an unknown subscription.
create or replace function queue.describe_subscription(p_arn text)
returns table (attributes text, owner text, protocol text, endpoint text, topic_arn text, confirmed boolean,
    authenticated boolean, topic_delivery_policy text, principal text, replay_status text)
language sql stable as $$
select s.attributes::text, s.owner, s.protocol, s.endpoint, t.arn, s.confirmed, s.authenticates_unsubscribe,
    t.attributes ->> 'DeliveryPolicy', s.principal,
    (select r.status from queue.topic_replay r where r.subscription_id = s.subscription_id)
from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
where s.arn = p_arn
$$;

-- queue.notify_endpoint: stores a delivery or an outgoing message that tells an endpoint about its subscription. The
-- text is JSON and contains a MessageId.
create or replace function queue.notify_endpoint(
    p_subscription queue.subscription, p_kind text, p_topic text, p_text text) returns void
language sql volatile as $$
insert into queue.outgoing (account_id, region, protocol, kind, destination, message_id, topic_arn, subscription_arn,
    body)
select split_part(p_topic, ':', 5), split_part(p_topic, ':', 4), p_subscription.protocol, p_kind,
    p_subscription.endpoint, (p_text::jsonb ->> 'MessageId')::uuid, p_topic, p_subscription.arn, p_text
where p_subscription.protocol not in ('http', 'https');
with notice as (
    insert into queue.notice (kind, topic_arn, message_id, raw)
    select p_kind, p_topic, (p_text::jsonb ->> 'MessageId')::uuid, p_text
    where p_subscription.protocol in ('http', 'https') returning notice_id)
insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw, subscription_policy)
select n.notice_id, split_part(p_topic, ':', 5), p_subscription.arn, p_subscription.endpoint, false,
    p_subscription.attributes ->> 'DeliveryPolicy'
from notice n;
select queue.wake_deliveries();
$$;

-- queue.store_endpoint_password: stores the password of a URL. `p_topic` is the topic that delivers to the URL, or ''
-- for bindings. A null password changes nothing. A password **** does not replace a stored password.
create or replace function queue.store_endpoint_password(
    p_account_id text, p_topic text, p_endpoint text, p_password text) returns void
language sql volatile as $$
insert into queue.endpoint_password as e (account_id, topic_arn, endpoint, password)
select p_account_id, p_topic, p_endpoint, p_password where p_password is not null
on conflict (account_id, topic_arn, endpoint) do update set password = excluded.password
where excluded.password <> '****'
$$;

-- queue.list_subscription_page: returns subscriptions of an account in a region, or of a topic, in the order of their
-- ids.
--   `p_topic` is a topic. Null means the account's subscriptions, and subscriptions that deliver to the account's
--     queues.
--   `p_after` restricts the result to greater ids, and null means all ids.
-- Returns no row for an unknown topic. Uses the indexes subscription_owner, subscription_receiver and
-- subscription_topic_id_protocol_endpoint_key.
create or replace function queue.list_subscription_page(
    p_owner text, p_region text, p_topic text, p_after uuid, p_limit int)
returns table (subscription_id text, arn text, owner text, protocol text, endpoint text, topic_arn text,
    confirmed boolean)
language sql stable as $$
with owned as (
    select s.*, t.arn as topic_arn from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
    where p_topic is null and s.owner = p_owner and t.region = p_region
        and (p_after is null or s.subscription_id > p_after)
    order by s.subscription_id limit p_limit
), received as (
    select s.*, t.arn as topic_arn from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
    where p_topic is null and s.protocol = 'sqs' and split_part(s.endpoint, ':', 5) = p_owner and s.owner <> p_owner
        and t.region = p_region and (p_after is null or s.subscription_id > p_after)
    order by s.subscription_id limit p_limit
), of_topic as (
    select s.*, t.arn as topic_arn from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
    where t.arn = p_topic and (p_after is null or s.subscription_id > p_after)
    order by s.subscription_id limit p_limit
)
select k.subscription_id::text, k.arn, k.owner, k.protocol, k.endpoint, k.topic_arn, k.confirmed
from (select * from owned union all select * from received union all select * from of_topic) k
order by k.subscription_id
limit p_limit
$$;

-- queue.drop_subscription: deletes a subscription.
--   `p_anonymous` means that the request was not signed. An unsigned request suffices unless the subscription demands a
--     signature.
--   `p_confirmation` is the text that tells the endpoint. Null means that the service does not tell the endpoint. The
--     endpoint can restore the subscription within two days, with the token in the text.
--   `error` is NotFound, AuthorizationError or null.
-- Takes a shared lock on the topic's key, then locks the subscription's row, in the order that DeleteTopic uses.
create or replace function queue.drop_subscription(p_arn text, p_anonymous boolean, p_confirmation text)
returns table (error text)
language plpgsql as $$
declare
    v_subscription queue.subscription;
begin
    -- The condition removes `:` and the subscription's id from the ARN.
    perform from queue.topic t where t.arn = left(p_arn, -37) for key share;
    select * into v_subscription from queue.subscription s where s.arn = p_arn for update;
    if v_subscription.subscription_id is null then
        return query select 'NotFound'::text;
        return;
    end if;
    if p_anonymous and v_subscription.authenticates_unsubscribe then
        return query select 'AuthorizationError'::text;
        return;
    end if;
    if v_subscription.confirmed and p_confirmation is not null then
        insert into queue.former_subscription as f (topic_id, protocol, endpoint, subscription, token, expires_at)
        values (v_subscription.topic_id, v_subscription.protocol, v_subscription.endpoint, to_jsonb(v_subscription),
            p_confirmation::jsonb ->> 'Token', clock_timestamp() + interval '2 days')
        on conflict (topic_id, protocol, endpoint) do update
            set subscription = excluded.subscription, token = excluded.token, expires_at = excluded.expires_at;
        perform queue.notify_endpoint(v_subscription, 'UnsubscribeConfirmation', t.arn, p_confirmation)
        from queue.topic t where t.topic_id = v_subscription.topic_id;
    end if;
    delete from queue.subscription s where s.subscription_id = v_subscription.subscription_id;
    return query select null::text;
end $$;

-- queue.set_subscription_attributes: replaces the given attributes and the compiled filter policy. A null value removes
-- an attribute.
--   `p_known` contains the attributes that the caller read, from which the caller compiled p_filter.
--   `p_policies` is the policy by which the caller decided that the queue of a new RedrivePolicy lets the topic send
--     (policies_changed).
--   `error` is NotFound, Changed, FilterPolicyLimitExceeded, NoArchive or null. Changed means that the attributes
--     differ from p_known, or the policy from p_policies. NoArchive means that the topic of a new ReplayPolicy has no
--     archive.
-- A ReplayPolicy in p_attributes takes a shared lock on the topic's row before the lock of the subscription's row.
create or replace function queue.set_subscription_attributes(
    p_arn text, p_known jsonb, p_attributes jsonb, p_filter jsonb, p_topic_filters int, p_account_filters int,
    p_policies jsonb)
returns table (error text)
language plpgsql as $$
declare
    v_subscription queue.subscription;
    v_topic queue.topic;
    v_error text;
begin
    if queue.policies_changed(p_policies) then
        return query select 'Changed'::text;
        return;
    end if;
    if p_attributes ? 'ReplayPolicy' then
        -- The condition removes `:` and the subscription's id from the ARN.
        select * into v_topic from queue.topic t where t.arn = left(p_arn, -37) for share;
    end if;
    select * into v_subscription from queue.subscription s where s.arn = p_arn for update;
    v_error := case
        when v_subscription.subscription_id is null then 'NotFound'
        when v_subscription.attributes <> p_known then 'Changed'
        when p_filter is not null and v_subscription.filter is null and queue.filter_limit_reached(
            v_subscription.topic_id, v_subscription.owner, p_topic_filters, p_account_filters)
            then 'FilterPolicyLimitExceeded'
        when p_attributes ->> 'ReplayPolicy' is not null and v_topic.archive_id is null then 'NoArchive' end;
    if v_error is null then
        update queue.subscription s
        set attributes = jsonb_strip_nulls(s.attributes || p_attributes), filter = p_filter,
            dead_letter_queue_allowed = s.dead_letter_queue_allowed or p_attributes ? 'RedrivePolicy'
        where s.arn = p_arn;
        if v_topic.topic_id is not null then
            perform queue.start_replay(v_topic, v_subscription.subscription_id);
        end if;
    end if;
    return query select v_error;
end $$;
