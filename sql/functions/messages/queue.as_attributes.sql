-- queue.as_attributes: converts headers to message attributes. A text becomes String, a number becomes Number, and
-- other JSON becomes String.json.
create or replace function queue.as_attributes(p_headers jsonb) returns jsonb
language sql immutable as $$
select jsonb_object_agg(h.key, jsonb_build_object(
    'DataType', case jsonb_typeof(h.value)
        when 'string' then 'String' when 'number' then 'Number' else 'String.json' end,
    'StringValue', case when jsonb_typeof(h.value) = 'string' then h.value #>> '{}' else h.value::text end))
from jsonb_each(p_headers) h
$$;
