-- queue.write_audit: records an action in the action's transaction. Writes nothing if the action was refused or had no
-- effect.
--   `p_state_before` is the result of queue.audited_state before the action.
--   `p_changed` is false or null if the action was refused or had no effect.
--   `p_when_changed` is true if the audit omits an action that changed no value.
-- The columns of queue.audit explain the other parameters. The audit keeps an account's last 100,000 rows for 400 days.
-- This file also contains audited_state, audited_changes, cut_json, mask_secrets, prune_audit, note_refusals and
-- list_audit.
create or replace function queue.write_audit(
    p_account_id text, p_interface text, p_actor text, p_key_id text, p_address text, p_action text, p_target text,
    p_details jsonb, p_when_changed boolean, p_affected bigint, p_state_before jsonb, p_changed boolean)
returns table (audit_id bigint)
language plpgsql as $$
#variable_conflict use_column
declare
    v_after jsonb := case when p_state_before is not null then queue.audited_state(p_target) end;
    v_changes jsonb := '{}';
    v_id bigint;
begin
    if p_changed is not true then
        return;
    end if;
    if p_state_before is not null and v_after is not null then
        v_changes := queue.audited_changes(p_state_before, v_after);
        if p_when_changed and v_changes = '{}' and p_state_before <> '{}' then
            return;
        end if;
    end if;
    insert into queue.audit as a
        (account_id, interface, actor, key_id, address, action, target, details, changes, affected)
    values (p_account_id, p_interface,
        coalesce(p_actor, case when p_interface = 'database' then session_user::text end), p_key_id, p_address,
        p_action, queue.mask_secrets(p_target), queue.mask_secrets(p_details::text)::jsonb,
        queue.mask_secrets(v_changes::text)::jsonb, p_affected)
    returning a.audit_id into v_id;
    perform queue.prune_audit(p_account_id, v_id);
    return query select v_id;
end $$;

-- queue.audited_state: returns the values of a resource that the audit compares before and after an action.
--   - a queue or topic: attributes and tags
--   - a subscription: attributes, endpoint and confirmation
--   - a schedule: the definition without the message
--   - a mapping: function, options, tags and user
--   - a user: policies
--   - an event bus or an API destination: everything
--   - a connection: everything, and only a hash of its secrets
--   - a subscriber or an event source of a bus: the configuration. Patterns, expressions and parameters can be secret,
--     so the audit shows only a hash of them.
-- Returns null if the resource does not exist, and {} if the audit compares nothing of this kind. Is declared STABLE,
-- so a statement that also changes the resource receives the state before the change.
create or replace function queue.audited_state(p_arn text) returns jsonb
language sql stable as $$
select case
    when p_arn like 'arn:aws:sqs:%' then (
        select q.attributes || jsonb_build_object('tags', q.tags) from queue.queues q where q.arn = p_arn)
    when p_arn like 'arn:aws:sns:%:app/%' or p_arn like 'arn:aws:sns:%:endpoint/%' then '{}'
    when p_arn like 'arn:aws:sns:%:%:%:%' then (
        select s.attributes || jsonb_build_object('endpoint', s.endpoint, 'confirmed', s.confirmed)
        from queue.subscription s where s.arn = p_arn)
    when p_arn like 'arn:aws:sns:%' then (
        select t.attributes || jsonb_build_object('tags', t.tags) from queue.topic t where t.arn = p_arn)
    when p_arn like 'arn:aws:scheduler:%:schedule/%' then (
        select jsonb_build_object('expression', s.expression, 'timezone', s.timezone, 'status', s.status,
            'start_at', s.start_at, 'end_at', s.end_at, 'description', s.description,
            'target', s.target - array['message', 'headers', 'Input'])
        from queue.schedule s
        where s.account_id = split_part(p_arn, ':', 5) and s.region = split_part(p_arn, ':', 4)
            and s.group_name = split_part(p_arn, '/', 2) and s.name = split_part(p_arn, '/', 3))
    when p_arn like 'arn:aws:scheduler:%:schedule-group/%' then (
        select jsonb_build_object('tags', g.tags) from queue.schedule_group g
        where g.account_id = split_part(p_arn, ':', 5) and g.region = split_part(p_arn, ':', 4)
            and g.name = split_part(p_arn, '/', 2))
    when p_arn ~ '^arn:aws:lambda:.*:event-source-mapping:[0-9a-f-]{36}$' then (
        select jsonb_build_object('function', m.function_arn, 'enabled', m.enabled, 'options', m.options,
            'tags', m.tags, 'user', m.user_name)
        from queue.event_source_mapping m where m.mapping_id = right(p_arn, 36)::uuid)
    when p_arn like 'arn:aws:iam::%:user/%' then (
        select jsonb_build_object('policies', u.policies) from queue.account_user u
        where u.account_id = split_part(p_arn, ':', 5) and u.name = split_part(p_arn, '/', 2))
    when p_arn like 'arn:aws:events:%:connection/%' then (
        select jsonb_build_object('description', c.description, 'authorization_type', c.authorization_type,
            'parameters', c.parameters, 'secret', md5(c.sealed_parameters))
        from queue.connection c where c.arn = p_arn)
    when p_arn like 'arn:aws:events:%:api-destination/%' then (
        select jsonb_build_object('description', d.description, 'connection', d.connection_arn,
            'invocation_endpoint', d.invocation_endpoint, 'http_method', d.http_method, 'rate_limit', d.rate_limit)
        from queue.api_destination d where d.arn = p_arn)
    when p_arn like 'arn:aws:events:%:event-busv2/%' then (
        select jsonb_build_object('description', b.description, 'kms_key', b.kms_key, 'retention_days',
            b.retention_days, 'policy', b.policy, 'tags', b.tags)
        from queue.event_bus b where b.arn = p_arn)
    when p_arn like 'arn:aws:events:%:subscriber/%' then (
        select s.configuration - v.secret || jsonb_build_object('state', s.state, 'revoked', s.revoked,
            'target', s.target_arn, 'tags', s.tags, 'secret', md5(array(
                select s.configuration -> k.name from unnest(v.secret) k (name))::text))
        from queue.event_subscriber s,
            (values (array['FilterConfiguration', 'InvokeConfiguration', 'Transformer'])) v (secret)
        where s.arn = p_arn)
    when p_arn like 'arn:aws:events:%:event-sourcev2/%' then (
        select s.configuration || jsonb_build_object('revoked', s.revoked, 'tags', s.tags)
        from queue.event_source s where s.arn = p_arn)
    else '{}' end
$$;

-- queue.audited_changes: returns the members that differ, with the old and the new value of each. Cuts values of more
-- than 4,096 characters.
create or replace function queue.audited_changes(p_state_before jsonb, p_state_after jsonb) returns jsonb
language sql immutable as $$
select coalesce(jsonb_object_agg(k.key, jsonb_build_array(queue.cut_json(p_state_before -> k.key),
    queue.cut_json(p_state_after -> k.key))), '{}')
from (select jsonb_object_keys(p_state_before) union select jsonb_object_keys(p_state_after)) k(key)
where p_state_before -> k.key is distinct from p_state_after -> k.key
$$;

-- queue.cut_json: returns a value, or the first 4,096 characters of a longer text.
create or replace function queue.cut_json(p_value jsonb) returns jsonb
language sql immutable as $$
select case when length(p_value #>> '{}') > 4096
    then to_jsonb(left(p_value #>> '{}', 4096) || '… (' || length(p_value #>> '{}') || ' characters)')
    else p_value end
$$;

-- queue.mask_secrets: replaces the user and password of each URL in a text by ***.
create or replace function queue.mask_secrets(p_text text) returns text
language sql immutable as $$ select regexp_replace(p_text, E'(https?://)[^/@"\\s]*@', E'\\1***@', 'gi') $$;

-- queue.prune_audit: removes old rows of the audit. Each call removes up to 100 rows that are older than 400 days. If
-- the id is a multiple of 100, the call also removes rows beyond the account's last 100,000.
create or replace function queue.prune_audit(p_account_id text, p_audit_id bigint) returns void
language plpgsql as $$
begin
    delete from queue.audit a where a.audit_id in (
        select x.audit_id from queue.audit x where x.happened_at < (select clock_timestamp()) - interval '400 days'
        order by x.happened_at limit 100 for update skip locked);
    if p_audit_id % 100 = 0 then
        delete from queue.audit a where a.audit_id in (
            select x.audit_id from queue.audit x
            where x.account_id = p_account_id and x.audit_id < (
                select y.audit_id from queue.audit y where y.account_id = p_account_id
                order by y.audit_id desc offset 99999 limit 1)
            order by x.audit_id limit 1000 for update skip locked);
    end if;
end $$;

-- queue.note_refusals: records refused requests, failed sign-ins and readings of messages. A refusal or failed sign-in
-- has one row for each minute, caller and error, with the number of requests. A reading has a null error, and one row
-- for each minute, caller and target. All processes write to the same rows.
create or replace function queue.note_refusals(
    p_account_ids text[], p_interfaces text[], p_actors text[], p_key_ids text[], p_addresses text[], p_actions text[],
    p_targets text[], p_errors text[], p_counts int[])
returns table (noted int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_noted int;
    v_id bigint;
    v_minute timestamptz := date_trunc('minute', clock_timestamp());
begin
    insert into queue.audit as a
        (account_id, interface, actor, key_id, address, action, target, error, repeated, refusal_key)
    select u.account_id, u.interface, u.actor, u.key_id, u.address, u.action, queue.mask_secrets(u.target), u.error,
        u.count, md5(jsonb_build_array(
            date_part('epoch', v_minute), u.account_id, u.interface, u.actor, u.key_id, u.address, u.error,
            case when u.error is null then u.target end)::text)
    from unnest(p_account_ids, p_interfaces, p_actors, p_key_ids, p_addresses, p_actions, p_targets, p_errors, p_counts)
        u(account_id, interface, actor, key_id, address, action, target, error, count)
    order by 10
    on conflict (refusal_key) do update set repeated = a.repeated + excluded.repeated;
    get diagnostics v_noted = row_count;
    select max(x.audit_id) into v_id from queue.audit x;
    perform queue.prune_audit(x.account_id, v_id - v_id % 100)
    from (select distinct account_id from unnest(p_account_ids) u(account_id)) x;
    return query select v_noted;
end $$;

-- queue.list_audit: returns the actions and refusals in an account, the newest first. `p_before` restricts the result
-- to smaller values of `audit_id`. Null means all rows. `p_action` and `p_target` restrict the result to successful
-- actions of this name on a resource, whose ARN is `p_target`, or `p_target`, a slash and an id.
create or replace function queue.list_audit(
    p_account_id text, p_before bigint, p_limit int, p_action text default null, p_target text default null)
returns table (audit_id bigint, happened_at timestamptz, interface text, actor text, key_id text, address text,
    action text, target text, details text, changes text, affected bigint, error text, repeated int)
language sql stable as $$
select a.audit_id, a.happened_at, a.interface, a.actor, a.key_id, a.address, a.action, a.target, a.details::text,
    a.changes::text, a.affected, a.error, a.repeated
from queue.audit a
where a.account_id = p_account_id and (p_before is null or a.audit_id < p_before)
    and (p_action is null or a.action = p_action and a.error is null
        and (a.target = p_target or starts_with(a.target, p_target || '/')))
order by a.audit_id desc limit p_limit
$$;
