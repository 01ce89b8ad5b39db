-- queue.fact_passes: returns whether one fact passes a test of a compiled filter policy.
--   `p_test` is [operator, arguments…] (sns/filter_policy/operators.py).
--   `p_fact` is a JSON scalar.
--   `p_kind` is the jsonb_typeof of p_fact.
-- Never uses a text as a regular expression. Is a single expression, so PostgreSQL inlines this function.
-- This file also contains like_any and in_network.
create or replace function queue.fact_passes(p_test jsonb, p_fact jsonb, p_kind text) returns boolean
language sql immutable parallel safe as $$
select case p_test ->> 0
    when 'in' then p_test -> 1 @> p_fact
    when 'not' then not p_test -> 1 @> p_fact
    when 'like' then p_kind = 'string' and p_fact #>> '{}' like p_test ->> 1
    when 'range' then p_kind = 'number'
        and (p_fact > p_test -> 1 or (p_fact = p_test -> 1 and (p_test -> 2)::boolean))
        and (p_fact < p_test -> 3 or (p_fact = p_test -> 3 and (p_test -> 4)::boolean))
    when 'ci' then p_kind = 'string' and length(p_fact #>> '{}') <= (p_test -> 2)::int
        and p_test -> 1 ? queue.lower_case(p_fact #>> '{}')
    when 'not-ci' then p_kind <> 'string' or length(p_fact #>> '{}') > (p_test -> 2)::int
        or not p_test -> 1 ? queue.lower_case(p_fact #>> '{}')
    when 'unlike' then p_kind <> 'string' or not queue.like_any(p_fact #>> '{}', p_test -> 1)
    when 'cidr' then p_kind = 'string' and queue.in_network(p_fact #>> '{}', p_test ->> 1)
end
$$;

-- queue.like_any: returns whether the text matches one of the patterns, a JSON array of strings.
create or replace function queue.like_any(p_text text, p_patterns jsonb) returns boolean
language sql immutable parallel safe as $$
select exists (select from jsonb_array_elements_text(p_patterns) e where p_text like e.value)
$$;

-- queue.in_network: returns whether the text is an IP address in a network. Returns false for texts that are not IP
-- addresses.
create or replace function queue.in_network(p_text text, p_network text) returns boolean
language plpgsql immutable parallel safe as $$
begin
    return position('/' in p_text) = 0 and p_text::inet <<= p_network::inet;
exception when data_exception then
    return false;
end $$;
