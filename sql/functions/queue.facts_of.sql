-- queue.facts_of(message): what filter policies compare, of a JSON object: the values of each path, as
-- filter_policy.body_facts makes them; null for anything else. Called by: publish_event.
create or replace function queue.facts_of(p_message jsonb) returns jsonb
language sql immutable as $$
with recursive part as (
    select e.key as path, e.value from jsonb_each(case when jsonb_typeof(p_message) = 'object' then p_message end) e
    union all
    select case when n.key is null then p.path else p.path || chr(31) || n.key end, n.value
    from part p
    cross join lateral (
        select o.key, o.value from jsonb_each(case when jsonb_typeof(p.value) = 'object' then p.value end) o
        union all
        select null, a.value from jsonb_array_elements(case when jsonb_typeof(p.value) = 'array' then p.value end) a) n)
select case when jsonb_typeof(p_message) = 'object' then coalesce(
    (select jsonb_object_agg(f.path, f.values) from (
        select p.path, jsonb_agg(p.value) as values from part p
        where jsonb_typeof(p.value) not in ('object', 'array') group by p.path) f), '{}') end
$$;
