-- queue.set_platform_endpoint(arn, token, attributes): replaces the token, unless it is null, and the given attributes.
-- Returns one row: error (NotFound; TokenTaken: another endpoint of the application has it) or null.
-- Index: platform_endpoint_arn_key, platform_endpoint_token.
create or replace function queue.set_platform_endpoint(p_arn text, p_token text, p_attributes jsonb)
returns table (error text)
language plpgsql as $$
#variable_conflict use_column
begin
    update queue.platform_endpoint e
    set token = coalesce(p_token, e.token), attributes = e.attributes || p_attributes
    where e.arn = p_arn
        and exists (select from queue.platform_application a where a.application_id = e.application_id);
    return query select case when not found then 'NotFound' end;
exception when unique_violation then
    return query select 'TokenTaken'::text;
end $$;
