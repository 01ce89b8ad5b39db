-- Platform applications and endpoints of mobile devices.

-- queue.create_platform_application: creates an application. Returns the existing application if it has the same
-- attributes. `p_credentials` is the digest of the credentials. `error` is Differs if the existing application has
-- other attributes.
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

-- queue.create_platform_endpoint: creates an endpoint, or finds the endpoint with this token.
--   `NotFound` means that the application does not exist.
--   `Differs` means that the existing endpoint has another CustomUserData, or another Enabled if p_attributes has one.
--   `TooMany` means that the application's account has p_max endpoints. A p_max of 0 means no limit. Concurrent calls
--     can exceed the limit.
-- Takes a shared lock on the application's row, then takes the locks of count_platform_endpoints.
create or replace function queue.create_platform_endpoint(
    p_application text, p_endpoint_id uuid, p_token text, p_attributes jsonb, p_max int)
returns table (arn text, error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_application queue.platform_application;
    v_endpoint queue.platform_endpoint;
begin
    select * into v_application from queue.platform_application a where a.arn = p_application for share;
    if v_application.application_id is null then
        return query select null::text, 'NotFound'::text;
        return;
    end if;
    loop
        select * into v_endpoint from queue.platform_endpoint e
        where e.application_id = v_application.application_id and md5(e.token) = md5(p_token);
        exit when found;
        if p_max > 0 and p_max <= (
            select sum(c.endpoints) from queue.platform_endpoint_count c where c.account_id = v_application.account_id)
        then
            return query select null::text, 'TooMany'::text;
            return;
        end if;
        insert into queue.platform_endpoint (endpoint_id, application_id, arn, account_id, token, attributes)
        values (p_endpoint_id, v_application.application_id,
            replace(v_application.arn, ':app/', ':endpoint/') || '/' || p_endpoint_id, v_application.account_id,
            p_token, '{"Enabled": "true"}' || p_attributes)
        on conflict (application_id, md5(token)) do nothing
        returning * into v_endpoint;
        if found then
            perform queue.count_platform_endpoints(array[v_application.account_id], array[1]);
            exit;
        end if;     -- If the insert adds no row, another call has created the endpoint.
    end loop;
    return query select v_endpoint.arn, case
        when coalesce(v_endpoint.attributes ->> 'CustomUserData', '') <> coalesce(p_attributes ->> 'CustomUserData', '')
            or v_endpoint.attributes ->> 'Enabled' <> p_attributes ->> 'Enabled' then 'Differs' end;
end $$;

-- queue.describe_platform_endpoint: returns the token and attributes of an endpoint. Returns no row for an unknown
-- endpoint.
create or replace function queue.describe_platform_endpoint(p_arn text) returns table (token text, attributes text)
language sql stable as $$
select e.token, e.attributes::text
from queue.platform_endpoint e join queue.platform_application a on a.application_id = e.application_id
where e.arn = p_arn
$$;

-- queue.set_platform_endpoint: replaces the given attributes of an endpoint and, unless null, its token. `error` is
-- NotFound, or TokenTaken if another endpoint of the application has the token.
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

-- queue.list_platform_endpoints: returns endpoints in the order of their ids. `p_after` restricts the result to greater
-- ids. Null means all ids.
create or replace function queue.list_platform_endpoints(p_application text, p_after uuid, p_limit int)
returns table (endpoint_id text, arn text, token text, attributes text)
language sql stable as $$
select e.endpoint_id::text, e.arn, e.token, e.attributes::text
from queue.platform_endpoint e
where e.application_id = (select a.application_id from queue.platform_application a where a.arn = p_application)
    and (p_after is null or e.endpoint_id > p_after)
order by e.endpoint_id limit p_limit
$$;

-- queue.drop_platform_endpoint: deletes an endpoint. `dropped` says whether the endpoint existed. The endpoint's
-- subscriptions stay, as on AWS. Takes the locks of count_platform_endpoints.
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

-- queue.count_platform_endpoints: adds changes to the accounts' numbers of endpoints. A negative change counts removed
-- endpoints. Each number has several parts. A part can be negative, but the sum of all parts cannot. Locks rows of
-- queue.platform_endpoint_count until commit, in the order of the accounts. Callers lock endpoints before they call
-- this function.
create or replace function queue.count_platform_endpoints(p_accounts text[], p_changes bigint[]) returns void
language sql as $$
insert into queue.platform_endpoint_count as c (account_id, part, endpoints)
select u.account_id, pg_backend_pid() % 8, sum(u.change)
from unnest(p_accounts, p_changes) u(account_id, change) group by u.account_id order by u.account_id
on conflict (account_id, part) do update set endpoints = c.endpoints + excluded.endpoints
$$;
