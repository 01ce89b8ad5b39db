-- queue.cron_values: returns the values that match a field of a cron expression, in order. The field is `*`, `5`,
-- `1-5`, `*/10`, `MON-FRI` or a list. `*` and open steps end at p_top. If p_wraps is true, a range such as `22-2`
-- continues at the lowest value after the highest value. The function parse_values in scheduler/expressions/fields.py
-- is the counterpart in Python. Raises QU003 if the field is invalid.
create or replace function queue.cron_values(
    p_field text, p_low int, p_top int, p_high int, p_names text[], p_wraps boolean)
returns int[]
language plpgsql immutable parallel safe as $$
declare
    v_item text;
    v_span text[];
    v_step int;
    v_first int;
    v_last int;
    v_values int[] := '{}';
begin
    if p_field !~ E'^(\\*|[0-9A-Z]+(-[0-9A-Z]+)?)(/[0-9]+)?(,(\\*|[0-9A-Z]+(-[0-9A-Z]+)?)(/[0-9]+)?)*$' then
        raise exception '"%" is not a field of cron', p_field using errcode = 'QU003';
    end if;
    foreach v_item in array string_to_array(p_field, ',') loop
        v_span := string_to_array(replace(split_part(v_item, '/', 1), '*', p_low || '-' || p_top), '-');
        v_step := queue.cron_number(coalesce(nullif(split_part(v_item, '/', 2), ''), '1'), 1, p_high);
        v_first := queue.cron_number(v_span[1], p_low, p_high, p_names);
        v_last := case when v_span[2] is not null then queue.cron_number(v_span[2], p_low, p_high, p_names)
                       when v_item like '%/%' then p_top else v_first end;
        if v_last < v_first and p_wraps then
            v_last := v_last + p_top - p_low + 1;
        elsif v_last = 0 and v_span[2] = 'SUN' or v_last = 0 and v_first > 0 and p_high = 7 then
            v_last := 7;
        elsif v_last < v_first and v_span[2] is not null then
            raise exception 'the range % runs backwards', v_item using errcode = 'QU003';
        end if;
        v_values := v_values || array(
            select p_low + (v - p_low) % (p_top - p_low + 1) from generate_series(v_first, v_last, v_step) v);
    end loop;
    return array(select distinct v from unnest(v_values) v order by v);
end $$;
