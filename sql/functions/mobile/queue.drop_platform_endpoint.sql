-- queue.drop_platform_endpoint(arn): deletes an endpoint; a missing one is no error. Returns one row: whether there was one.
-- Subscriptions of it stay, as on AWS. Locks: those of count_platform_endpoints.
create or replace function queue.drop_platform_endpoint(p_arn text) returns table (dropped boolean)
language plpgsql as $$
declare
    v_account text;
begin
    delete from queue.platform_endpoint e where e.arn = p_arn returning e.account_id into v_account;
    if v_account is not null then
        perform queue.count_platform_endpoints(array[v_account], array[-1]);
    end if;
    return query select v_account is not null;
end $$;
