-- queue.drop_platform_endpoint(arn): deletes an endpoint; a missing one is no error. Returns one row: whether there was one.
-- Subscriptions of it stay, as on AWS. Called by: DeleteEndpoint.
create or replace function queue.drop_platform_endpoint(p_arn text) returns table (dropped boolean)
language plpgsql as $$
begin
    delete from queue.platform_endpoint e where e.arn = p_arn;
    return query select found;
end $$;
