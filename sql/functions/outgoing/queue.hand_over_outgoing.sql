-- queue.hand_over_outgoing(protocols, limit, confirmations): makes deliveries to the gateway, to the mail server or to functions of outgoing
-- messages of these protocols that nothing carries yet, of each account the oldest first: accounts share p_limit, so that
-- none waits for another's many. Those that are older than six hours stay (as long as SNS tries at most). p_confirmations: how
-- many mails an hour may ask for confirmations of an account; 0: any number. Returns one row: how many.
-- One whose destination has become impossible since its publish has failed, and goes to its dead-letter queue.
-- Locks: outgoing messages, skipped when locked; those of dead_letter_outgoing and hand_over_mail. Index: outgoing_kept.
-- Called by: the worker `deliver`.
create or replace function queue.hand_over_outgoing(p_protocols text[], p_limit int, p_confirmations int)
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
        if v_error is null and v_message.protocol in ('email', 'email-json') then
            v_error := queue.hand_over_mail(v_message, p_confirmations);
        elsif v_error is null and v_message.protocol = 'lambda' then
            v_error := queue.hand_over_to_function(v_message);
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
