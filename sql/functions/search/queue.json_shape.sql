-- queue.json_shape(value, depth): the shape of a JSON value (body_shape). Names have a fixed order in jsonb.
-- Called by: body_shape.
create or replace function queue.json_shape(p_value jsonb, p_depth int) returns text
language plpgsql immutable as $$
begin
    if p_depth > 0 and jsonb_typeof(p_value) = 'object' then
        return '{' || coalesce((
            select string_agg(e.key || ':' || case when jsonb_typeof(e.value) in ('object', 'array')
                then queue.json_shape(e.value, p_depth - 1) else jsonb_typeof(e.value) end, ',')
            from jsonb_each(p_value) e), '') || '}';
    elsif p_depth > 0 and jsonb_typeof(p_value) = 'array' then
        return '[' || coalesce((
            select string_agg(distinct queue.json_shape(e.value, p_depth - 1), '|')
            from (select a.value from jsonb_array_elements(p_value) a limit 100) e), '') || ']';
    end if;
    return jsonb_typeof(p_value);
end $$;
