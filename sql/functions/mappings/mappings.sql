-- Event source mappings: functions that read and change them, filter their messages, and check the rights of a batch.

-- queue.count_mappings: adds to the counts of event source mappings. Ignores deleted mappings. Locks the mappings' rows
-- in the order of their ids.
create or replace function queue.count_mappings(p_mapping_ids uuid[], p_invocations bigint[], p_failed bigint[])
returns table (known bigint)
language plpgsql as $$
begin
    with counted as materialized (
        select m.mapping_id, c.invocations, c.failed
        from unnest(p_mapping_ids, p_invocations, p_failed) c(mapping_id, invocations, failed)
        join queue.event_source_mapping m using (mapping_id)
        order by m.mapping_id for update of m)
    update queue.event_source_mapping m
    set invocations = m.invocations + c.invocations, failed_invocations = m.failed_invocations + c.failed
    from counted c where m.mapping_id = c.mapping_id;
    get diagnostics known = row_count;
    return next;
end $$;

-- queue.drop_mapping: deletes an event source mapping and wakes the pollers. Returns the deleted mapping. Returns no
-- row if the mapping does not exist.
create or replace function queue.drop_mapping(p_account_id text, p_region text, p_mapping_id uuid)
returns table (mapping jsonb)
language plpgsql as $$
begin
    return query
    delete from queue.event_source_mapping m
    where m.account_id = p_account_id and m.region = p_region and m.mapping_id = p_mapping_id
    returning queue.show_mapping(m);
    if found then
        perform queue.notify_processes('mappings');
    end if;
end $$;

-- queue.report_mapping: stores the result of an event source mapping's last batch. If p_reason is not null, and the
-- mapping still has this revision, disables the mapping and stores the reason. The first result other than OK sets
-- failing_since. The result OK clears failing_since. Locks the mapping's row.
create or replace function queue.report_mapping(p_mapping_id uuid, p_revision bigint, p_result text, p_reason text)
returns table (known boolean)
language plpgsql as $$
begin
    update queue.event_source_mapping m
    set last_result = p_result,
        failing_since = case when p_result = 'OK' then null else coalesce(m.failing_since, clock_timestamp()) end,
        enabled = m.enabled and p_reason is null, reason = coalesce(p_reason, m.reason)
    where m.mapping_id = p_mapping_id and m.revision = p_revision;
    known := found;
    return next;
end $$;

-- queue.show_mapping: returns an event source mapping as JSON for the API and the pollers. `updated_at` and
-- `failing_since` are in seconds since 1970.
create or replace function queue.show_mapping(p_mapping queue.event_source_mapping) returns jsonb
language sql immutable as $$
select to_jsonb(p_mapping) - 'poller_id' || jsonb_build_object(
    'updated_at', round(extract(epoch from p_mapping.updated_at), 3),
    'failing_since', round(extract(epoch from p_mapping.failing_since), 3))
$$;

-- queue.tag_mapping: adds and removes tags of an event source mapping. `error` is ResourceNotFoundException or
-- TagLimitExceeded (more than 50 tags). Locks the mapping's row.
create or replace function queue.tag_mapping(
    p_account_id text, p_region text, p_mapping_id uuid, p_tags jsonb, p_removed text[])
returns table (error text)
language plpgsql as $$
declare
    v_tags jsonb;
begin
    select (m.tags || p_tags) - p_removed into v_tags
    from queue.event_source_mapping m
    where m.account_id = p_account_id and m.region = p_region and m.mapping_id = p_mapping_id for update;
    error := case when v_tags is null then 'ResourceNotFoundException'
        when (select count(*) from jsonb_object_keys(v_tags)) > 50 then 'TagLimitExceeded' end;
    if error is null then
        update queue.event_source_mapping m set tags = v_tags where m.mapping_id = p_mapping_id;
    end if;
    return next;
end $$;

-- queue.create_mapping: stores an event source mapping and wakes the pollers. Returns the mapping (queue.show_mapping)
-- or an error. `error` is QueueDoesNotExist or MappingExists. MappingExists comes with the existing mapping.
create or replace function queue.create_mapping(
    p_account_id text, p_region text, p_queue_arn text, p_function_arn text, p_user_name text, p_options jsonb,
    p_filters jsonb, p_enabled boolean, p_tags jsonb)
returns table (error text, mapping jsonb)
language plpgsql as $$
declare
    v_mapping queue.event_source_mapping;
begin
    if not exists (select from queue.queues q where q.arn = p_queue_arn) then
        return query select 'QueueDoesNotExist'::text, null::jsonb;
        return;
    end if;
    insert into queue.event_source_mapping (
        account_id, region, queue_arn, function_arn, user_name, options, filters, enabled, tags)
    values (p_account_id, p_region, p_queue_arn, p_function_arn, p_user_name, p_options, p_filters, p_enabled, p_tags)
    on conflict (queue_arn, function_arn) do nothing
    returning * into v_mapping;
    if v_mapping.mapping_id is null then
        return query select 'MappingExists'::text, queue.show_mapping(m) from queue.event_source_mapping m
        where m.queue_arn = p_queue_arn and m.function_arn = p_function_arn;
        return;
    end if;
    perform queue.notify_processes('mappings');
    return query select null::text, queue.show_mapping(v_mapping);
end $$;

-- queue.filter_messages: returns the messages (n, from 1) that match one of the compiled filter policies. `p_facts` has
-- the format of sns/filter_policy/facts.py.
create or replace function queue.filter_messages(p_policies jsonb[], p_facts jsonb[]) returns table (n int)
language sql stable as $$
select f.n::int from unnest(p_facts) with ordinality f(facts, n)
where exists (select from unnest(p_policies) p(policy) where queue.policy_matches(p.policy, f.facts))
$$;

-- queue.user_policies: returns the policies of a user. Returns no row if the user does not exist.
create or replace function queue.user_policies(p_account_id text, p_name text)
returns table (policies text[])
language sql stable as $$
select u.policies from queue.account_user u where u.account_id = p_account_id and u.name = p_name
$$;

-- queue.list_mappings: returns the event source mappings of an account in a region, in the order of their ids.
--   `p_mapping_id`, `p_queue_arn` and `p_function_arn` restrict the result to matching mappings. Null means any
--     mapping.
--   `p_after` restricts the result to greater ids. Null means all ids.
-- Uses the index event_source_mapping_account.
create or replace function queue.list_mappings(
    p_account_id text, p_region text, p_mapping_id uuid, p_queue_arn text, p_function_arn text, p_after uuid,
    p_limit int)
returns table (mapping jsonb)
language sql stable as $$
select queue.show_mapping(m)
from queue.event_source_mapping m
where m.account_id = p_account_id and m.region = p_region
    and (p_mapping_id is null or m.mapping_id = p_mapping_id)
    and (p_queue_arn is null or m.queue_arn = p_queue_arn)
    and (p_function_arn is null or m.function_arn = p_function_arn)
    and (p_after is null or m.mapping_id > p_after)
order by m.mapping_id
limit p_limit
$$;

-- queue.read_mappings: returns event source mappings as JSON.
create or replace function queue.read_mappings(p_mapping_ids uuid[])
returns table (mapping jsonb)
language sql stable as $$
select queue.show_mapping(m) from queue.event_source_mapping m where m.mapping_id = any (p_mapping_ids)
$$;

-- queue.list_troubled_mappings: returns the event source mappings of an account that fail, the longest failing first,
-- and then those that the service stopped. `p_queue_arn` is null for the mappings of any queue. Uses the index
-- event_source_mapping_troubled.
create or replace function queue.list_troubled_mappings(
    p_account_id text, p_region text, p_queue_arn text, p_limit int)
returns table (mapping jsonb)
language sql stable as $$
select queue.show_mapping(m)
from queue.event_source_mapping m
where m.account_id = p_account_id and m.region = p_region
    and (m.failing_since is not null or (not m.enabled and m.reason <> 'USER_INITIATED'))
    and (m.enabled or m.reason <> 'USER_INITIATED')
    and (p_queue_arn is null or m.queue_arn = p_queue_arn)
order by m.failing_since, m.mapping_id
limit p_limit
$$;

-- queue.update_mapping: changes an event source mapping and wakes the pollers. Returns the mapping or an error.
--   `p_function_arn` and `p_enabled` are null if the values do not change.
--   `p_options` changes only its members, so concurrent changes keep each other's members.
--   `p_filters` is the compiled FilterCriteria of p_options.
--   `error` is ResourceNotFoundException or MappingExists. MappingExists means that the queue has another mapping to
--     this function.
-- Locks the mapping's row.
create or replace function queue.update_mapping(
    p_account_id text, p_region text, p_mapping_id uuid, p_function_arn text, p_user_name text, p_options jsonb,
    p_filters jsonb, p_enabled boolean)
returns table (error text, mapping jsonb)
language plpgsql as $$
declare
    v_mapping queue.event_source_mapping;
begin
    update queue.event_source_mapping m
    set function_arn = coalesce(p_function_arn, m.function_arn), user_name = p_user_name,
        options = m.options || p_options,
        filters = case when p_options ? 'FilterCriteria' then p_filters else m.filters end,
        enabled = coalesce(p_enabled, m.enabled), reason = 'USER_INITIATED',
        updated_at = clock_timestamp(), revision = m.revision + 1
    where m.account_id = p_account_id and m.region = p_region and m.mapping_id = p_mapping_id
    returning * into v_mapping;
    if v_mapping.mapping_id is null then
        return query select 'ResourceNotFoundException'::text, null::jsonb;
        return;
    end if;
    perform queue.notify_processes('mappings');
    return query select null::text, queue.show_mapping(v_mapping);
exception when unique_violation then
    return query select 'MappingExists'::text, queue.show_mapping(o)
    from queue.event_source_mapping m join queue.event_source_mapping o on o.queue_arn = m.queue_arn
    where m.mapping_id = p_mapping_id and o.function_arn = p_function_arn;
end $$;
