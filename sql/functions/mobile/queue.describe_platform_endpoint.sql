-- queue.describe_platform_endpoint(arn): token and attributes of an endpoint. Returns no row for an unknown one.
create or replace function queue.describe_platform_endpoint(p_arn text) returns table (token text, attributes text)
language sql stable as $$
select e.token, e.attributes::text
from queue.platform_endpoint e join queue.platform_application a on a.application_id = e.application_id
where e.arn = p_arn
$$;
