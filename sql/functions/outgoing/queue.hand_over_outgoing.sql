-- queue.hand_over_outgoing(protocols, limit, confirmations): makes webhooks of outgoing messages of these protocols that nothing
-- carries yet: for the gateway, or for the mail server. The oldest first; those that are older than an hour, mails six hours,
-- stay. p_confirmations: how many mails an hour may ask for confirmations of an account; 0: any number.
-- Returns one row: how many.
-- Locks: outgoing messages, skipped when locked. Index: outgoing_kept. Called by: the worker `deliver`.
drop function if exists queue.hand_over_outgoing(text[], int);
create or replace function queue.hand_over_outgoing(p_protocols text[], p_limit int, p_confirmations int)
returns table (handed int)
language plpgsql as $$
declare
    v_message queue.outgoing;
begin
    handed := 0;
    for v_message in
        select o.* from queue.outgoing o
        where o.state = 'kept' and o.protocol = any (p_protocols) and o.created_at > clock_timestamp() - interval '6 hours'
            and (o.protocol in ('email', 'email-json') or o.created_at > clock_timestamp() - interval '1 hour')
        order by o.created_at, o.outgoing_id limit p_limit for update skip locked
    loop
        if v_message.protocol in ('email', 'email-json') then
            perform queue.hand_over_mail(v_message, p_confirmations);
        else
            perform queue.hand_over_to_gateway(v_message);
        end if;
        handed := handed + 1;
    end loop;
    return next;
end $$;
