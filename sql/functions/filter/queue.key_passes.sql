-- queue.key_passes: returns whether a value passes a test of a key of a compiled filter policy. `p_key` is [path,
-- whether the path can be missing, test, …]. Compares numbers from -10^9 to 10^9 with five digits after the point
-- ("Filter policy constraints", SNS Developer Guide).
create or replace function queue.key_passes(p_key jsonb, p_values jsonb) returns boolean
language plpgsql immutable parallel safe as $$
declare
    v_value jsonb;
    v_kind text;
begin
    for v in 0 .. jsonb_array_length(p_values) - 1 loop
        v_value := p_values -> v;
        v_kind := jsonb_typeof(v_value);
        if v_kind = 'number' and abs(v_value::numeric) <= 1000000000 then
            v_value := to_jsonb(round(v_value::numeric, 5));
        end if;
        for t in 2 .. jsonb_array_length(p_key) - 1 loop
            if queue.fact_passes(p_key -> t, v_value, v_kind) then
                return true;
            end if;
        end loop;
    end loop;
    return false;
end $$;
