-- queue.parse_every: returns the cron expression of an interval such as `5m`. The interval is a number with s, m, h or
-- d, and the number must divide the next larger unit. The counterpart in Python is scheduler/expressions/every.py.
-- Raises QU003 if the text is invalid.
create or replace function queue.parse_every(p_text text) returns text
language plpgsql immutable parallel safe as $$
declare
    v_unit text := right(p_text, 1);
    v_whole int := case v_unit when 's' then 60 when 'm' then 60 when 'h' then 24 when 'd' then 1 end;
    v_number int := case when p_text ~ '^0*[1-9][0-9]?[smhd]$' then left(p_text, -1)::int end;
    v_step text := case v_number when 1 then '*' else '*/' || v_number end;
begin
    if v_number is null or v_number > v_whole or v_whole % v_number <> 0 then
        raise exception '"%" is not a number that divides the next unit and s, m, h or d', p_text
            using errcode = 'QU003', hint = 'Examples: 30s, 5m, 6h, 1d';
    end if;
    return case
        when v_unit = 'd' or v_unit = 'h' and v_number = 24 then '0 0 * * *'
        when v_unit = 's' and v_number = 60 then '* * * * *'
        when v_unit = 'm' and v_number = 60 then '0 * * * *'
        when v_unit = 's' then v_step || ' * * * * *'
        when v_unit = 'm' then v_step || ' * * * *'
        else '0 ' || v_step || ' * * *' end;
end $$;
