-- queue.record_mail_refusals(subscriptions, refused): counts mails that the server refused for good because of the recipient,
-- one array element a mail; one that it accepted sets the count of its subscription back. See hand_over_mail.
-- Locks: subscriptions, in the order of their ARNs. Index: subscription_arn_key. Called by: settle_deliveries.
create or replace function queue.record_mail_refusals(p_subscriptions text[], p_refused boolean[]) returns void
language plpgsql as $$
declare
    v_subscription record;
begin
    for v_subscription in
        select u.arn, count(*) filter (where u.refused)::int as refusals, bool_or(not u.refused) as accepts
        from unnest(p_subscriptions, p_refused) u(arn, refused) where u.arn is not null group by u.arn order by u.arn
    loop
        update queue.subscription s
        set mail_refusals = case when v_subscription.accepts then 0 else s.mail_refusals end + v_subscription.refusals
        where s.arn = v_subscription.arn and (s.mail_refusals > 0 or v_subscription.refusals > 0);
    end loop;
end $$;
