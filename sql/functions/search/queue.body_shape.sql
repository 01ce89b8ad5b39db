-- queue.body_shape: returns a message body's shape, a text of at most 32 characters that can be compared. Bodies have
-- the same shape if they differ only in values, in the order of names or in the length of lists.
--   `base64` means that the body is not JSON, and has 16 or more characters of base64.
--   `text` means that the body is not JSON.
--   `long` means that the body has more than 64 KiB.
--   Any other value is the result of json_shape for a JSON body. Only the first 8 levels count.
-- This file also contains json_shape.
create or replace function queue.body_shape(p_body text) returns text
language plpgsql immutable as $$
declare
    v_json jsonb;
begin
    if octet_length(p_body) > 65536 then
        return 'long';
    end if;
    begin
        v_json := p_body::jsonb;
    exception when data_exception or program_limit_exceeded then       -- The function as_json handles the same errors.
        v_json := queue.escaped_json(p_body);
    end;
    if v_json is not null then
        return queue.json_shape(v_json, 8);
    end if;
    return case when length(p_body) >= 16 and length(p_body) % 4 = 0 and p_body ~ '^[A-Za-z0-9+/_-]+={0,2}$'
        then 'base64' else 'text' end;
end $$;

-- queue.json_shape: returns the shape of a JSON value (body_shape). For an object or a list, the result is the md5 of
-- its names, types and nested shapes. For any other value, the result is the value's type. Only the first 100 elements
-- of a list count. The shape of an object with more than 200 names is `wide`. Uses JSON paths, because a query for each
-- object would take three times as long.
create or replace function queue.json_shape(p_value jsonb, p_depth int) returns text
language plpgsql immutable as $$
declare
    v_names jsonb;
    v_types jsonb;
    v_shape text;
    v_seen text[] := '{}';
begin
    if p_depth = 0 or jsonb_typeof(p_value) not in ('object', 'array') then
        return jsonb_typeof(p_value);
    end if;
    if jsonb_typeof(p_value) = 'object' then
        v_names := jsonb_path_query_array(p_value, '$.keyvalue().key');
        if jsonb_array_length(v_names) > 200 then
            return 'wide';
        end if;
        v_types := jsonb_path_query_array(p_value, '$.keyvalue().value.type()');
        v_shape := v_names::text || v_types::text;
        if v_types ?| array['object', 'array'] then
            for v_n in 0 .. jsonb_array_length(v_types) - 1 loop
                if v_types ->> v_n in ('object', 'array') then
                    v_shape := v_shape || v_n || queue.json_shape(p_value -> (v_names ->> v_n), p_depth - 1);
                end if;
            end loop;
        end if;
        return md5(v_shape);
    end if;
    for v_n in 0 .. least(jsonb_array_length(p_value), 100) - 1 loop
        v_shape := queue.json_shape(p_value -> v_n, p_depth - 1);
        if v_shape <> all (v_seen) then
            v_seen := v_seen || v_shape;
        end if;
    end loop;
    if cardinality(v_seen) > 1 then
        v_seen := array(select s from unnest(v_seen) s order by s collate "C");
    end if;
    return md5('[' || array_to_string(v_seen, ','));
end $$;
