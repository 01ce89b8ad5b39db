-- queue.list_platform_applications(account, region, after, limit): applications in the order of their ARNs, after p_after
-- (null: from the first). Index: platform_application_account_id_region_arn_key.
create or replace function queue.list_platform_applications(p_account_id text, p_region text, p_after text, p_limit int)
returns table (arn text, attributes text)
language sql stable as $$
select a.arn, a.attributes::text from queue.platform_application a
where a.account_id = p_account_id and a.region = p_region and a.arn > coalesce(p_after, '')
order by a.arn limit p_limit
$$;
