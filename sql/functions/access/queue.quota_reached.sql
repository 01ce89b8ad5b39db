-- queue.quota_reached: returns whether an account has reached a quota. Returns false if the named item exists already.
--   `p_kind` is queues, topics, subscriptions, schedules, platform_applications, opted_out_numbers, mappings,
--     event_buses, event_subscribers, event_sources, connections or api_destinations.
--   `p_group` is the group of a schedule, or the ARN of a subscriber's bus.
--   `p_name` is the item's name, the ARN of a platform application, or a phone number. For a subscription or a mapping,
--     `p_name` is null.
--   `p_max` is the quota.
-- Concurrent calls can exceed a quota, because each call counts before the other calls add an item. If a quota is at
-- least 1,000, first reads PostgreSQL's estimate for the whole installation. Counts only if that estimate exceeds half
-- of the quota. Uses each table's index by account.
create or replace function queue.quota_reached(
    p_account_id text, p_region text, p_kind text, p_group text, p_name text, p_max int)
returns table (reached boolean)
language plpgsql stable as $$
declare
    v_table regclass := case p_kind
        when 'queues' then 'queue.queues'::regclass when 'topics' then 'queue.topic'::regclass
        when 'subscriptions' then 'queue.subscription'::regclass when 'schedules' then 'queue.schedule'::regclass
        when 'platform_applications' then 'queue.platform_application'::regclass
        when 'opted_out_numbers' then 'queue.opted_out_number'::regclass
        when 'mappings' then 'queue.event_source_mapping'::regclass
        when 'event_buses' then 'queue.event_bus'::regclass
        when 'event_subscribers' then 'queue.event_subscriber'::regclass
        when 'event_sources' then 'queue.event_source'::regclass
        when 'connections' then 'queue.connection'::regclass
        when 'api_destinations' then 'queue.api_destination'::regclass end;
begin
    -- A count of fewer than 1,000 items needs no estimate.
    if p_max >= 1000 and (select c.reltuples between 0 and p_max / 2 from pg_class c where c.oid = v_table) then
        return query select false;
        return;
    end if;
    return query
    select p_max <= case p_kind
        when 'queues' then (
            select count(*) from (select from queue.queues q where q.account_id = p_account_id limit p_max) k)
        when 'topics' then (
            select count(*) from (select from queue.topic t where t.account_id = p_account_id limit p_max) k)
        when 'subscriptions' then (
            select count(*) from (select from queue.subscription s where s.owner = p_account_id limit p_max) k)
        when 'platform_applications' then (
            select count(*) from (
                select from queue.platform_application a where a.account_id = p_account_id limit p_max) k)
        when 'opted_out_numbers' then (
            select count(*) from (select from queue.opted_out_number o where o.account_id = p_account_id limit p_max) k)
        when 'mappings' then (
            select count(*) from (
                select from queue.event_source_mapping m where m.account_id = p_account_id limit p_max) k)
        when 'event_buses' then (
            select count(*) from (
                select from queue.event_bus b where b.account_id = p_account_id and b.topic_id is null limit p_max) k)
        when 'event_subscribers' then (
            select count(*) from (
                select from queue.event_bus b join queue.event_subscriber s using (bus_id)
                where b.arn = p_group limit p_max) k)
        when 'event_sources' then (
            select count(*) from (select from queue.event_source s where s.account_id = p_account_id limit p_max) k)
        when 'connections' then (
            select count(*) from (select from queue.connection c where c.account_id = p_account_id limit p_max) k)
        when 'api_destinations' then (
            select count(*) from (select from queue.api_destination d where d.account_id = p_account_id limit p_max) k)
        else (
            select count(*) from (select from queue.schedule s where s.account_id = p_account_id limit p_max) k) end
        and not case p_kind
        when 'queues' then exists (
            select from queue.queues q where (q.account_id, q.region, q.name) = (p_account_id, p_region, p_name))
        when 'topics' then exists (
            select from queue.topic t where (t.account_id, t.region, t.name) = (p_account_id, p_region, p_name))
        when 'subscriptions' then false
        when 'mappings' then false
        when 'platform_applications' then exists (
            select from queue.platform_application a where a.arn = p_name)
        when 'opted_out_numbers' then exists (
            select from queue.opted_out_number o
            where (o.account_id, o.region, o.phone_number) = (p_account_id, p_region, p_name))
        when 'event_buses' then exists (
            select from queue.event_bus b where (b.account_id, b.region, b.name) = (p_account_id, p_region, p_name))
        when 'event_subscribers' then exists (
            select from queue.event_bus b join queue.event_subscriber s using (bus_id)
            where b.arn = p_group and (s.account_id, s.name) = (p_account_id, p_name))
        when 'event_sources' then exists (
            select from queue.event_source s where (s.account_id, s.region, s.name) = (p_account_id, p_region, p_name))
        when 'connections' then exists (
            select from queue.connection c where (c.account_id, c.region, c.name) = (p_account_id, p_region, p_name))
        when 'api_destinations' then exists (
            select from queue.api_destination d
            where (d.account_id, d.region, d.name) = (p_account_id, p_region, p_name))
        else exists (
            select from queue.schedule s
            where (s.account_id, s.region, s.group_name, s.name) = (p_account_id, p_region, p_group, p_name)) end;
end $$;
