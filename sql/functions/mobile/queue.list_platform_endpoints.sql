-- queue.list_platform_endpoints(application's ARN, after, limit): endpoints in the order of their ids, after p_after (null: from
-- the first). Index: platform_endpoint_application.
create or replace function queue.list_platform_endpoints(p_application text, p_after uuid, p_limit int)
returns table (endpoint_id text, arn text, token text, attributes text)
language sql stable as $$
select e.endpoint_id::text, e.arn, e.token, e.attributes::text
from queue.platform_endpoint e
where e.application_id = (select a.application_id from queue.platform_application a where a.arn = p_application)
    and (p_after is null or e.endpoint_id > p_after)
order by e.endpoint_id limit p_limit
$$;
