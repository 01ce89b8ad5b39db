-- queue.body_shape(body): which names a JSON body has and where, with the types of their values, as text for comparison.
-- Bodies that differ in values, in the order of names or in the length of lists alone have one shape. What is nested more than
-- 8 deep counts as its type; of a list its first 100 elements. A body that is not JSON: base64 (16 characters or more of
-- it), else text; one of more than 64 KiB: long.
create or replace function queue.body_shape(p_body text) returns text
language plpgsql immutable as $$
begin
    if octet_length(p_body) > 65536 then
        return 'long';
    end if;
    return queue.json_shape(p_body::jsonb, 8);
exception when data_exception or program_limit_exceeded then       -- as as_json
    return case when length(p_body) >= 16 and length(p_body) % 4 = 0 and p_body ~ '^[A-Za-z0-9+/_-]+={0,2}$'
        then 'base64' else 'text' end;
end $$;
