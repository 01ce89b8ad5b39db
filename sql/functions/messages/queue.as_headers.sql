-- queue.as_headers: converts message attributes to headers, as the inverse of queue.as_attributes. Binary values stay
-- base64 texts.
create or replace function queue.as_headers(p_attributes jsonb) returns jsonb
language sql immutable as $$
select coalesce(jsonb_object_agg(a.key, case a.value ->> 'DataType'
    when 'Number' then queue.as_json(a.value ->> 'StringValue')
    when 'String.json' then queue.as_json(a.value ->> 'StringValue')
    else coalesce(a.value -> 'StringValue', a.value -> 'BinaryValue') end), '{}')
from jsonb_each(p_attributes) a
$$;
