-- queue.test_passes(test, value): one test of a filter policy, on one value. No text is used as a regular expression.
-- Called by: tests_pass, itself.
create or replace function queue.test_passes(p_test jsonb, p_value jsonb) returns boolean
language plpgsql immutable parallel safe as $$
declare
    v_what text := p_test ->> 0;
    v_is_text boolean := jsonb_typeof(p_value) = 'string';
    v_text text := p_value #>> '{}';
    v_wanted text := p_test ->> 1;
begin
    if v_what = 'in' then
        return p_test -> 1 @> jsonb_build_array(p_value);
    elsif v_what = 'not' then
        return not exists (select from jsonb_array_elements(p_test -> 1) t where queue.test_passes(t, p_value));
    elsif v_what = 'numeric' then
        return jsonb_typeof(p_value) = 'number' and queue.compares(p_test -> 1, v_text::numeric);
    elsif not v_is_text then
        return false;
    end if;
    return case v_what
        when 'prefix' then starts_with(v_text, v_wanted)
        when 'suffix' then right(v_text, length(v_wanted)) = v_wanted
        when 'prefix-ci' then starts_with(lower(v_text), v_wanted)
        when 'suffix-ci' then right(lower(v_text), length(v_wanted)) = v_wanted
        when 'ci' then lower(v_text) = v_wanted
        when 'like' then v_text like v_wanted
        when 'cidr' then queue.in_network(v_text, v_wanted) end;
end $$;
