-- queue.set_subscription_attributes: as the previous release calls it.
-- Returns one row: whether there is such a subscription. Called by: SetSubscriptionAttributes of the previous release.
create or replace function queue.set_subscription_attributes(p_arn text, p_attributes jsonb, p_filter jsonb)
returns table (found boolean)
language plpgsql as $$
begin
    update queue.subscription s
    set attributes = jsonb_strip_nulls(s.attributes || p_attributes), filter = p_filter
    where s.arn = p_arn;
    return query select found;
end $$;
