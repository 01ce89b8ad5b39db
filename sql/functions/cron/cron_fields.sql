-- The fields of cron expressions.

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

-- queue.cron_days: returns the days of a month that match a cron expression, in order. A field is null if it does not
-- restrict the days. If both fields restrict the days, a day has to match only one of them, as in POSIX crontab.
-- `p_month` is the first day of the month. scheduler/expressions/days.py is the counterpart in Python. Raises QU003 if
-- a field is invalid.
create or replace function queue.cron_days(p_of_month text, p_of_week text, p_aws boolean, p_month date) returns int[]
language plpgsql immutable parallel safe as $$
declare
    v_length int := extract(day from p_month + interval '1 month' - interval '1 day');
    v_days int[] := '{}';
begin
    if p_of_month is not null then
        v_days := queue.cron_month_days(p_of_month, p_aws, p_month, v_length);
    end if;
    if p_of_week is not null then
        v_days := v_days || queue.cron_week_days(p_of_week, p_aws, p_month, v_length);
    end if;
    return array(
        select d from generate_series(1, v_length) d
        where d = any (v_days) or p_of_month is null and p_of_week is null order by d);
end $$;

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

-- queue.cron_month_days: returns the days of a month that match the day-of-month field. The field has numbers, `L`,
-- `L-3`, `LW` and `15W`. MonthDays in scheduler/expressions/days.py is the counterpart in Python. Raises QU003 if the
-- field is invalid.
create or replace function queue.cron_month_days(p_field text, p_wraps boolean, p_first date, p_length int)
returns int[]
language plpgsql immutable parallel safe as $$
declare
    v_item text;
    v_day int;
    v_days int[] := '{}';
begin
    foreach v_item in array string_to_array(p_field, ',') loop
        v_day := null;
        if v_item = 'L' then
            v_day := p_length;
        elsif v_item = 'LW' then
            v_day := queue.nearest_weekday(p_first + p_length - 1);
        elsif v_item like 'L-%' then
            v_day := p_length - queue.cron_number(substr(v_item, 3), 1, 30);
        elsif v_item like '%W' then
            v_day := queue.cron_number(rtrim(v_item, 'W'), 1, 31);
            v_day := case when v_day <= p_length then queue.nearest_weekday(p_first + v_day - 1) end;
        else
            v_days := v_days || queue.cron_values(v_item, 1, 31, 31, '{}', p_wraps);
        end if;
        v_days := v_days || v_day;
    end loop;
    return v_days;
end $$;

-- queue.nearest_weekday: returns the day from Monday to Friday that is nearest to a date in the same month (`W`).
create or replace function queue.nearest_weekday(p_date date) returns int
language sql immutable parallel safe
return extract(day from p_date)::int + case extract(isodow from p_date)
    when 6 then case when extract(day from p_date) = 1 then 2 else -1 end
    when 7 then case when extract(day from p_date + 1) = 1 then -2 else 1 end
    else 0 end;

-- queue.cron_week_days: returns the days of a month that match the day-of-week field. The field has numbers, names,
-- `L`, `6L` and `6#2`. AWS counts days of the week from 1 (Sunday), and allows only one item in a field with `#`.
-- WeekDays in scheduler/expressions/days.py is the counterpart in Python. Raises QU003 if the field is invalid.
create or replace function queue.cron_week_days(p_field text, p_aws boolean, p_first date, p_length int)
returns int[]
language plpgsql immutable parallel safe as $$
declare
    v_names constant text[] := '{SUN,MON,TUE,WED,THU,FRI,SAT}';
    v_low constant int := p_aws::int;
    v_item text;
    v_days int[] := '{}';
begin
    if p_aws and p_field like '%#%' and p_field like '%,%' then
        raise exception 'with # the day-of-week has only one expression' using errcode = 'QU003';
    end if;
    foreach v_item in array string_to_array(p_field, ',') loop
        v_days := v_days || case
            when v_item = 'L' and p_aws then array(
                select d from generate_series(1, p_length) d where extract(dow from p_first + d - 1) = 6)
            when v_item like '%#%' then array(
                select d from generate_series(1, p_length) d
                where extract(dow from p_first + d - 1)
                        = (queue.cron_number(split_part(v_item, '#', 1), v_low, 7, v_names) - v_low) % 7
                    and (d + 6) / 7 = queue.cron_number(substr(v_item, strpos(v_item, '#') + 1), 1, 5))
            when v_item like '%L' and v_item <> 'L' then array(
                select d from generate_series(p_length - 6, p_length) d
                where extract(dow from p_first + d - 1)
                    = (queue.cron_number(left(v_item, -1), v_low, 7, v_names) - v_low) % 7)
            else array(
                select d from generate_series(1, p_length) d
                where extract(dow from p_first + d - 1) + v_low
                    = any (queue.cron_values(v_item, v_low, 6 + v_low, 7, v_names, p_aws)))
            end;
    end loop;
    return v_days;
end $$;

-- queue.parse_cron: splits a cron expression into its fields. The expression has 5 fields, 6 fields with seconds first,
-- or the form `cron(…)` of AWS. `of_month` and `of_week` are texts, or null if the field restricts nothing. `years` is
-- null if every year matches. The counterpart in Python is scheduler/expressions/cron.py, and test_schedule_expressions
-- compares the two. Raises QU003 if the expression is invalid.
create or replace function queue.parse_cron(
    p_expression text, out seconds int[], out minutes int[], out hours int[], out months int[], out years int[],
    out of_month text, out of_week text, out aws boolean)
language plpgsql immutable parallel safe as $$
declare
    v_names constant text[] := '{JAN,FEB,MAR,APR,MAY,JUN,JUL,AUG,SEP,OCT,NOV,DEC}';
    v_fields text[];
begin
    aws := p_expression like 'cron(%)';
    if aws and p_expression ~ E'^cron\\(\\s|\\s\\)$|\\s\\s|[\\t\\r\\n]' then
        raise exception 'there is one blank between two fields of cron(), and none at a bracket'
            using errcode = 'QU003';
    end if;
    v_fields := regexp_split_to_array(
        upper(btrim(case when aws then substr(p_expression, 6, length(p_expression) - 6) else p_expression end,
            E' \t\r\n')), E'[ \\t\\r\\n]+');
    if cardinality(v_fields) <> 6 and (aws or cardinality(v_fields) <> 5) then
        raise exception 'a cron expression has %, not %', case when aws then 'six fields' else '5 or 6 fields' end,
            cardinality(v_fields) using errcode = 'QU003', hint = 'Examples: 0 9 * * MON-FRI and cron(0 12 * * ? *)';
    end if;
    years := case when aws and v_fields[6] <> '*' then queue.cron_values(v_fields[6], 1970, 2199, 2199, '{}', true) end;
    seconds := case when aws or cardinality(v_fields) = 5 then '{0}'
                    else queue.cron_values(v_fields[1], 0, 59, 59, '{}', false) end;
    if cardinality(v_fields) = 6 and not aws then
        v_fields := v_fields[2:];
    end if;
    minutes := queue.cron_values(v_fields[1], 0, 59, 59, '{}', aws);
    hours := queue.cron_values(v_fields[2], 0, 23, 23, '{}', aws);
    months := queue.cron_values(v_fields[4], 1, 12, 12, v_names, aws);
    if aws and (v_fields[3] = '?') = (v_fields[5] = '?') then
        raise exception 'either day-of-month or day-of-week has to be ?' using errcode = 'QU003';
    end if;
    of_month := case when v_fields[3] not in ('*', '?') then v_fields[3] end;
    of_week := case when v_fields[5] not in ('*', '?') then v_fields[5] end;
    perform queue.cron_days(of_month, of_week, aws, date '2024-02-01');
end $$;
