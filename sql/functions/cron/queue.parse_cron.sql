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
