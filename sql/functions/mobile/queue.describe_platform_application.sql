-- queue.describe_platform_application(arn): the attributes of an application. Returns no row for an unknown one.
create or replace function queue.describe_platform_application(p_arn text) returns table (attributes text)
language sql stable as $$
select a.attributes::text from queue.platform_application a where a.arn = p_arn
$$;
