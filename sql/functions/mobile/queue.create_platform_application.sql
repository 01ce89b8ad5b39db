-- queue.create_platform_application: creates an application. Returns the existing application if it has the same
-- attributes. `p_credentials` is the digest of the credentials. `error` is Differs if the existing application has
-- other attributes.
-- This file also contains describe_platform_application, set_platform_application, list_platform_applications and
-- drop_platform_application.
create or replace function queue.create_platform_application(
    p_account_id text, p_region text, p_platform text, p_name text, p_credentials text, p_attributes jsonb)
returns table (arn text, error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_application queue.platform_application;
begin
    loop
        insert into queue.platform_application (account_id, region, platform, name, credentials, attributes)
        values (p_account_id, p_region, p_platform, p_name, p_credentials, p_attributes)
        on conflict do nothing
        returning * into v_application;
        exit when found;
        select * into v_application from queue.platform_application a
        where (a.account_id, a.region, a.platform, a.name) = (p_account_id, p_region, p_platform, p_name);
        exit when found;    -- If the select finds no row, another call has deleted the application.
    end loop;
    return query select v_application.arn,
        case when (v_application.credentials, v_application.attributes) <> (p_credentials, p_attributes)
            then 'Differs' end;
end $$;

-- queue.describe_platform_application: returns the attributes of an application. Returns no row for an unknown
-- application.
create or replace function queue.describe_platform_application(p_arn text) returns table (attributes text)
language sql stable as $$
select a.attributes::text from queue.platform_application a where a.arn = p_arn
$$;

-- queue.set_platform_application: changes an application. `found` says whether the application exists.
--   `p_attributes` replaces the given attributes. A null value removes an attribute.
--   `p_credentials` replaces the digest of the credentials. Null keeps the digest.
create or replace function queue.set_platform_application(p_arn text, p_attributes jsonb, p_credentials text)
returns table (found boolean)
language plpgsql as $$
begin
    update queue.platform_application a
    set attributes = jsonb_strip_nulls(a.attributes || p_attributes),
        credentials = coalesce(p_credentials, a.credentials)
    where a.arn = p_arn;
    return query select found;
end $$;

-- queue.list_platform_applications: returns applications in the order of their ARNs. `p_after` restricts the result to
-- later ARNs. Null means all ARNs.
create or replace function queue.list_platform_applications(p_account_id text, p_region text, p_after text, p_limit int)
returns table (arn text, attributes text)
language sql stable as $$
select a.arn, a.attributes::text from queue.platform_application a
where a.account_id = p_account_id and a.region = p_region and a.arn > coalesce(p_after, '')
order by a.arn limit p_limit
$$;

-- queue.drop_platform_application: deletes an application and its endpoints. `dropped` says whether the application
-- existed. Requests no longer find the endpoints. The function clean_platform_applications later removes the endpoints'
-- rows. Locks the application's row. The function create_platform_endpoint takes a shared lock on this row, so no
-- endpoint is created after the deletion.
create or replace function queue.drop_platform_application(p_arn text) returns table (dropped boolean)
language plpgsql as $$
declare
    v_application queue.platform_application;
begin
    delete from queue.platform_application a where a.arn = p_arn returning * into v_application;
    insert into queue.dropped_platform_application (application_id, account_id)
    select v_application.application_id, v_application.account_id
    where exists (select from queue.platform_endpoint e where e.application_id = v_application.application_id);
    return query select v_application.application_id is not null;
end $$;
