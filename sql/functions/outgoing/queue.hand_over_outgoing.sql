-- queue.hand_over_outgoing(protocols, limit): makes webhooks to the gateway of outgoing messages of these protocols that
-- nothing carries yet, of each account the oldest first: accounts share p_limit, so that none waits for another's many.
-- Those that are older than six hours stay (as long as SNS tries at most). A webhook's
-- text is what docs/topics.md says of the gateway. Its endpoint is a name for each protocol, so that text messages and pushes
-- pause by themselves; the worker knows the address, which is no account's business. Returns one row: how many.
-- One whose destination has become impossible since its publish has failed, and goes to its dead-letter queue.
-- Locks: outgoing messages, skipped when locked; those of dead_letter_outgoing. Index: outgoing_kept. Called by: the worker `deliver`.
create or replace function queue.hand_over_outgoing(p_protocols text[], p_limit int) returns table (handed int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_since timestamptz := clock_timestamp() - interval '6 hours';
    v_message queue.outgoing;
    v_notice bigint;
    v_error text;
begin
    handed := 0;
    for v_message in
        with recursive accounts as (    -- one step in the index for each
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
            where o.state = 'kept' and o.protocol = a.protocol and o.account_id = a.account_id and o.created_at > v_since
            order by o.created_at limit greatest(1, p_limit / (select count(*) from accounts)::int)
            for update skip locked) m
        order by m.outgoing_id
    loop
        v_error := queue.outgoing_refusal(
            v_message.account_id, v_message.region, v_message.protocol, v_message.destination);
        if v_error is not null then
            update queue.outgoing o set state = 'failed', error = v_error where o.outgoing_id = v_message.outgoing_id;
            perform queue.dead_letter_outgoing(array[v_message.outgoing_id]);
            continue;
        end if;
        insert into queue.notice (kind, topic_arn, message_id, raw, head)
        select 'gateway', v_message.topic_arn, v_message.message_id, json_strip_nulls(json_build_object(
            'id', v_message.message_id || coalesce(':' || right(v_message.subscription_arn, 36), ''),     -- as webhook_id in request.py
            'message_id', v_message.message_id, 'kind', v_message.kind, 'account', v_message.account_id, 'region', v_message.region,
            'protocol', v_message.protocol, 'destination', v_message.destination,
            'platform', case when v_message.protocol = 'application' then split_part(v_message.destination, '/', 2) end,
            'token', e.token, 'topic_arn', v_message.topic_arn, 'subject', v_message.subject, 'text', v_message.body,
            'attributes', v_message.attributes))::text, v_message.envelope
        from (select) one left join queue.platform_endpoint e on e.arn = v_message.destination
        returning notice_id into v_notice;
        insert into queue.webhook (notice_id, account_id, subscription_arn, endpoint, raw, outgoing_id, dead_letter_arn)
        values (v_notice, v_message.account_id, v_message.subscription_arn, 'https://gateway/' || v_message.protocol, true,
            v_message.outgoing_id, v_message.dead_letter_arn);
        update queue.outgoing o set state = 'waiting' where o.outgoing_id = v_message.outgoing_id;
        handed := handed + 1;
    end loop;
    return next;
end $$;
