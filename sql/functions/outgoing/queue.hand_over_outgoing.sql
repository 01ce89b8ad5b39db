-- queue.hand_over_outgoing: creates deliveries for outgoing messages that have no delivery. The deliveries go to the
-- gateway, to the mail server or to Lambda functions. Returns the number of deliveries. The oldest messages of each
-- account come first. Accounts share p_limit, so no account waits for another account's backlog. Messages that are
-- older than six hours stay, because SNS tries for at most six hours.
--   `p_confirmations` is the maximum number of mails per hour and account that ask for a confirmation.
--   `p_text_messages` is the maximum number of text messages per day and account that go to the gateway, and 0 means no
--     limit.
-- If a destination has become impossible since the publish, the message fails and goes to its dead-letter queue. Skips
-- locked outgoing messages. Takes the locks of dead_letter_outgoing and hand_over_mail. Uses the index outgoing_kept.
-- This file also contains hand_over_mail, confirmation_time, hand_over_to_function, hand_over_to_gateway and
-- count_text_message.
create or replace function queue.hand_over_outgoing(
    p_protocols text[], p_limit int, p_confirmations int, p_text_messages int default 0)
returns table (handed int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_since timestamptz := clock_timestamp() - interval '6 hours';
    v_message queue.outgoing;
    v_error text;
begin
    handed := 0;
    for v_message in
        with recursive accounts as (    -- The query reads one index entry for each account.
            select p.protocol, k.account_id from unnest(p_protocols) p(protocol)
            cross join lateral (
                select o.account_id from queue.outgoing o where o.state = 'kept' and o.protocol = p.protocol
                order by o.account_id limit 1) k
            union all
            select a.protocol, k.account_id from accounts a
            cross join lateral (
                select o.account_id from queue.outgoing o
                where o.state = 'kept' and o.protocol = a.protocol and o.account_id > a.account_id
                order by o.account_id limit 1) k)
        select m.* from accounts a
        cross join lateral (
            select o.* from queue.outgoing o
            where o.state = 'kept' and o.protocol = a.protocol and o.account_id = a.account_id
                and o.created_at > v_since
            order by o.created_at limit greatest(1, p_limit / (select count(*) from accounts)::int)
            for update skip locked) m
        order by m.outgoing_id
    loop
        v_error := queue.outgoing_refusal(
            v_message.account_id, v_message.region, v_message.protocol, v_message.destination);
        if v_error is null and v_message.protocol in ('email', 'email-json') then
            v_error := queue.hand_over_mail(v_message, p_confirmations);
        elsif v_error is null and v_message.protocol = 'lambda' then
            v_error := queue.hand_over_to_function(v_message);
        elsif v_error is null and v_message.protocol = 'sms'
            and not queue.count_text_message(v_message.account_id, p_text_messages)
        then
            v_error := 'TextMessageQuotaExceeded';
        elsif v_error is null then
            perform queue.hand_over_to_gateway(v_message);
        end if;
        if v_error is not null then
            update queue.outgoing o set state = 'failed', error = v_error where o.outgoing_id = v_message.outgoing_id;
            perform queue.dead_letter_outgoing(array[v_message.outgoing_id]);
            continue;
        end if;
        update queue.outgoing o set state = 'waiting' where o.outgoing_id = v_message.outgoing_id;
        handed := handed + 1;
    end loop;
    return next;
end $$;

-- queue.hand_over_mail: creates a delivery to the mail server. Returns null or an error. The text of the delivery is
-- JSON, which delivery/mail/message.py reads. The delivery's endpoint is a name for each protocol, as in
-- hand_over_to_gateway. A confirmation is valid for two days after it was sent. The errors are:
--   `NotSubscribed` means that the subscription has ended.
--   `AddressDisabled` means that the server has refused five mails of the subscription in a row.
--   `ConfirmationRateExceeded` means that confirmation_time finds no time for a confirmation.
-- The caller has locked the message's row. Takes the locks of confirmation_time, then locks the subscription of a
-- confirmation.
create or replace function queue.hand_over_mail(p_message queue.outgoing, p_confirmations int) returns text
language plpgsql as $$
declare
    v_subscription queue.subscription;
    v_due timestamptz := clock_timestamp();
    v_notice bigint;
begin
    select * into v_subscription from queue.subscription s where s.arn = p_message.subscription_arn;
    if v_subscription.arn is null and p_message.kind <> 'UnsubscribeConfirmation' then
        return 'NotSubscribed';
    elsif p_message.kind = 'Notification' and v_subscription.mail_refusals >= 5 then
        return 'AddressDisabled';
    elsif p_message.kind = 'SubscriptionConfirmation' then
        v_due := queue.confirmation_time(p_message.account_id, p_message.destination, p_confirmations);
        if v_due is null then
            return 'ConfirmationRateExceeded';
        end if;
        update queue.subscription s set token_expires_at = greatest(s.token_expires_at, v_due + interval '2 days')
        where s.arn = v_subscription.arn and v_due > clock_timestamp();
    end if;
    insert into queue.notice (kind, topic_arn, message_id, raw, head)
    select 'mail', p_message.topic_arn, p_message.message_id, json_strip_nulls(json_build_object(
        'kind', p_message.kind, 'protocol', p_message.protocol, 'destination', p_message.destination,
        'subject', p_message.subject, 'display_name', nullif(t.attributes ->> 'DisplayName', ''),
        'text', p_message.body,
        'unsubscribe_url', case when not v_subscription.authenticates_unsubscribe
            then p_message.unsubscribe_url end))::text,
        p_message.envelope
    from (select) one left join queue.topic t on t.arn = p_message.topic_arn
    returning notice_id into v_notice;
    insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw, outgoing_id, due_at,
        dead_letter_arn)
    values (v_notice, p_message.account_id, p_message.subscription_arn, 'smtp://mail/' || p_message.protocol, true,
        p_message.outgoing_id, v_due, p_message.dead_letter_arn);
    return null;
end $$;

-- queue.confirmation_time: reserves the time at which a mail can ask an address for a confirmation. The time is at
-- least an hour after the last confirmation mail of any account. The time is also late enough that the account sends at
-- most p_limit confirmation mails within an hour. A p_limit of 0 means no limit. Returns null if that time is more than
-- two days away. Returns null if ten of the account's mails already wait for this address, because other accounts can
-- also need the address. An advisory lock admits one caller at a time. Uses the indexes confirmation_mail_account and
-- confirmation_mail_address.
create or replace function queue.confirmation_time(p_account_id text, p_address text, p_limit int) returns timestamptz
language plpgsql as $$
declare
    v_due timestamptz;
begin
    perform pg_advisory_xact_lock(queue.lock_key(9, 0, 0));
    delete from queue.confirmation_mail c where c.due_at <= (select clock_timestamp()) - interval '1 hour';
    v_due := greatest(clock_timestamp(),
        (select max(c.due_at) + interval '1 hour' from queue.confirmation_mail c where c.address = lower(p_address)),
        (select c.due_at + interval '1 hour' from queue.confirmation_mail c
         where c.account_id = p_account_id and p_limit > 0
         order by c.due_at desc offset greatest(0, p_limit - 1) limit 1));
    if v_due > clock_timestamp() + interval '2 days' or 10 <= (
        select count(*) from queue.confirmation_mail c
        where c.address = lower(p_address) and c.account_id = p_account_id and c.due_at > (select clock_timestamp()))
    then
        return null;
    end if;
    insert into queue.confirmation_mail (account_id, address, due_at) values (p_account_id, lower(p_address), v_due);
    return v_due;
end $$;

-- queue.hand_over_to_function: creates an invocation of a Lambda function. Returns null or an error. The errors are:
-- The text of the invocation is the envelope, from which delivery/functions/event.py makes the event.
--   `NotSubscribed` means that the subscription has ended.
--   `FunctionNotAllowed` means that the function belongs to another account than the subscriber.
-- The caller has locked the message's row.
create or replace function queue.hand_over_to_function(p_message queue.outgoing) returns text
language plpgsql as $$
declare
    v_owner text := (select s.owner from queue.subscription s where s.arn = p_message.subscription_arn);
    v_notice bigint;
begin
    if v_owner is null then
        return 'NotSubscribed';
    elsif v_owner <> split_part(p_message.destination, ':', 5) then
        return 'FunctionNotAllowed';
    end if;
    insert into queue.notice (kind, topic_arn, message_id, raw)
    values ('lambda', p_message.topic_arn, p_message.message_id, p_message.body)
    returning notice_id into v_notice;
    insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw, outgoing_id,
        dead_letter_arn)
    values (v_notice, p_message.account_id, p_message.subscription_arn, p_message.destination, true,
        p_message.outgoing_id, p_message.dead_letter_arn);
    return null;
end $$;

-- queue.hand_over_to_gateway: creates a delivery to the gateway. docs/reference/topics.md describes the delivery's
-- text. The delivery's endpoint is a name for each protocol, so text messages and pushes pause independently. The
-- worker has the gateway's address, which accounts do not see. The caller has locked the message's row.
create or replace function queue.hand_over_to_gateway(p_message queue.outgoing) returns void
language sql as $$
with notice as (
    insert into queue.notice (kind, topic_arn, message_id, raw, head)
    select 'gateway', p_message.topic_arn, p_message.message_id, json_strip_nulls(json_build_object(
        -- The function webhook_id in request.py uses the same format.
        'id', p_message.message_id || coalesce(':' || right(p_message.subscription_arn, 36), ''),
        'message_id', p_message.message_id, 'kind', p_message.kind, 'account', p_message.account_id, 'region',
        p_message.region, 'protocol', p_message.protocol, 'destination', p_message.destination,
        'platform', case when p_message.protocol = 'application' then split_part(p_message.destination, '/', 2) end,
        'token', e.token, 'topic_arn', p_message.topic_arn, 'subject', p_message.subject, 'text', p_message.body,
        'attributes', p_message.attributes))::text, p_message.envelope
    from (select) one left join queue.platform_endpoint e on e.arn = p_message.destination
    returning notice_id)
insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw, outgoing_id,
dead_letter_arn) select n.notice_id, p_message.account_id, p_message.subscription_arn, 'sns://gateway/' ||
p_message.protocol, true,     p_message.outgoing_id, p_message.dead_letter_arn
from notice n
$$;

-- queue.count_text_message: counts a text message for today (UTC). Returns whether the account can send the message.
-- Returns false, without counting, if the account has reached the limit. If p_limit is 0, returns true and counts
-- nothing. Locks the row of the account and day.
create or replace function queue.count_text_message(p_account_id text, p_limit int) returns boolean
language plpgsql as $$
declare
    v_today date := (clock_timestamp() at time zone 'UTC')::date;
begin
    if p_limit = 0 then
        return true;
    end if;
    delete from queue.text_message_day d where d.account_id = p_account_id and d.day < v_today;
    insert into queue.text_message_day as d (account_id, day, messages) values (p_account_id, v_today, 1)
    on conflict (account_id, day) do update set messages = d.messages + 1 where d.messages < p_limit;
    return found;
end $$;
