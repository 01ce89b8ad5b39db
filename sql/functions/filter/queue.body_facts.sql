-- queue.body_facts: returns the values of a JSON object that filter policies compare. The result has the format of
-- sns/filter_policy/facts.py. The result contains the values of each path and, if an array contains objects or arrays,
-- the message itself. A dot in a name has the effect of nesting. Returns null if the message is not an object. Returns
-- true, which passes every policy, for more than 32 nested arrays or more than 131,072 opening brackets.
create or replace function queue.body_facts(p_message jsonb) returns jsonb
language sql immutable as $$
with recursive part as (
    select replace(e.key, '.', e'\x1f') as path, e.value, 0 as level
    from jsonb_each(case when jsonb_typeof(p_message) = 'object'
        and (length(p_message::text) - length(translate(p_message::text, '[{', '')) <= 131072
            -- Brackets within texts do not count.
            or (select length(o.text) - length(translate(o.text, '[{', '')) <= 131072
                from regexp_replace(p_message::text, E'"([^"\\\\]|\\\\.)*"', '', 'g') o(text))) then p_message end) e
    union all
    select case when n.key is null then p.path else p.path || e'\x1f' || replace(n.key, '.', e'\x1f') end, n.value,
        p.level + (n.key is null)::int
    from part p
    cross join lateral (
        select o.key, o.value from jsonb_each(case when jsonb_typeof(p.value) = 'object' then p.value end) o
        union all
        select null, a.value from jsonb_array_elements(case when jsonb_typeof(p.value) = 'array' then p.value end) a) n)
select case when jsonb_typeof(p_message) = 'object' and coalesce(max(p.level), 0) <= 32
        and (p_message = '{}' or count(*) > 0) then     -- Otherwise, the message has too many brackets.
    coalesce((
        select jsonb_object_agg(f.path, f.values) from (
            select l.path, jsonb_agg(l.value) as values from part l
            where jsonb_typeof(l.value) not in ('object', 'array') group by l.path) f), '{}')
    || case when bool_or(jsonb_typeof(p.value) = 'array' and jsonb_array_length(
            case when jsonb_typeof(p.value) = 'array' then p.value else '[]' end) > 1
            and jsonb_path_exists(p.value, 'strict $[*] ? (@.type() == "object" || @.type() == "array")'))
        then jsonb_build_object(e'\x1f', p_message) else '{}' end
    when jsonb_typeof(p_message) = 'object' then 'true' end
from part p
$$;
