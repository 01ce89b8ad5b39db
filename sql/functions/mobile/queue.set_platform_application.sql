-- queue.set_platform_application(arn, attributes, credentials): replaces the given attributes (a null value removes one) and
-- the digest of the credentials, unless it is null. Returns one row: whether there is such an application.
create or replace function queue.set_platform_application(p_arn text, p_attributes jsonb, p_credentials text)
returns table (found boolean)
language plpgsql as $$
begin
    update queue.platform_application a
    set attributes = jsonb_strip_nulls(a.attributes || p_attributes), credentials = coalesce(p_credentials, a.credentials)
    where a.arn = p_arn;
    return query select found;
end $$;
