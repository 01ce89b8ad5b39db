-- Reads and changes of the sources of event buses.

-- queue.read_event_source: returns an event source as JSON by column. Returns no row if it does not exist.
create or replace function queue.read_event_source(p_arn text)
returns table (source jsonb)
language sql stable as $$ select to_jsonb(s) from queue.event_source s where s.arn = p_arn $$;

-- queue.delete_event_source: deletes an event source. `deleted` says whether it existed.
create or replace function queue.delete_event_source(p_arn text)
returns table (deleted boolean)
language plpgsql as $$
begin
    delete from queue.event_source s where s.arn = p_arn;
    return query select found;
end $$;

-- queue.list_event_sources: returns the event sources of an account and region, of a bus, or of both, as JSON by
-- column, in the order of their ARNs. A null restricts nothing. `p_after` is the last ARN of the previous page.
create or replace function queue.list_event_sources(
    p_account_id text, p_region text, p_bus_arn text, p_name_prefix text, p_after text, p_limit int)
returns table (source jsonb)
language sql stable as $$
select to_jsonb(s) from queue.event_source s
where (p_account_id is null or s.account_id = p_account_id) and s.region = p_region
    and (p_bus_arn is null or s.bus_id = (select b.bus_id from queue.event_bus b where b.arn = p_bus_arn))
    and starts_with(s.name, coalesce(p_name_prefix, '')) and s.arn > coalesce(p_after, '')
order by s.arn limit p_limit
$$;
