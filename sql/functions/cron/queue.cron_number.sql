-- queue.cron_number: returns the number that a text in a cron expression means. The text has digits, or is one of
-- p_names. The first name in p_names means p_low. Raises QU003 if the number is not between p_low and p_high.
create or replace function queue.cron_number(p_text text, p_low int, p_high int, p_names text[] default '{}')
returns int
language plpgsql immutable parallel safe as $$
declare
    v_digits text := ltrim(p_text, '0');
    v_number int := case when p_text = any (p_names) then array_position(p_names, p_text) - 1 + p_low
                         when p_text ~ '^[0-9]+$' and length(v_digits) <= 4 then ('0' || v_digits)::int end;
begin
    if v_number is null or v_number not between p_low and p_high then
        raise exception '"%" is not % to %', p_text, p_low, p_high using errcode = 'QU003';
    end if;
    return v_number;
end $$;
