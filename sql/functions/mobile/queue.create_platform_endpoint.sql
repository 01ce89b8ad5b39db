-- queue.create_platform_endpoint: creates an endpoint, or finds the endpoint with this token.
--   `NotFound` means that the application does not exist.
--   `Differs` means that the existing endpoint has another CustomUserData, or another Enabled if p_attributes has one.
--   `TooMany` means that the application's account has p_max endpoints. A p_max of 0 means no limit. Concurrent calls
--     can exceed the limit.
-- Takes a shared lock on the application's row, then takes the locks of count_platform_endpoints.
-- This file also contains describe_platform_endpoint, set_platform_endpoint, list_platform_endpoints and
-- drop_platform_endpoint.
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
