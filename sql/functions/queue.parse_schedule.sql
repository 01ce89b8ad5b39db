-- queue.parse_schedule(form, expression, timezone): the canonical expression, as queue.schedule keeps it. p_form: cron,
-- every, fire_at; aws for rate(), cron() and at(), or their names aws_cron, rate and at. Raises QU003.
-- SQL interface. Its counterpart in Python is scheduler/expressions/expression.py, which also reads `when`;
-- test_schedule_expressions compares the two.
create or replace function queue.parse_schedule(p_form text, p_expression text, p_timezone text default 'UTC')
returns text
language plpgsql stable as $$
declare
    v_form text := case when p_form <> 'aws' then p_form when p_expression like 'rate(%' then 'rate'
                        when p_expression like 'at(%' then 'at' else 'aws_cron' end;
    v_cron text := upper(regexp_replace(btrim(p_expression, E' \t\r\n'), '[ \t\r\n]+', ' ', 'g'));
    v_seconds bigint;
begin
    perform queue.check_timezone(p_timezone);
    if length(p_expression) > 256 or p_expression ~ '[^\t\n\r -~]' or (p_expression like 'cron(%') <> (v_form = 'aws_cron')
        or (p_expression like 'at(%') <> (v_form = 'at')
    then
        raise exception 'not a schedule expression of the form %: "%"', p_form, left(p_expression, 256)
            using errcode = 'QU003';
    end if;
    case v_form
    when 'cron' then
        perform queue.parse_cron(p_expression);
        return regexp_replace(v_cron, '(?<= )\?(?= |$)', '*', 'g');
    when 'aws_cron' then
        perform queue.parse_cron(p_expression);
        return regexp_replace(regexp_replace(v_cron, '^CRON\( ?', 'cron('), ' \)$', ')');
    when 'every' then
        return queue.parse_every(p_expression);
    when 'fire_at' then
        return to_char(queue.parse_moment(p_expression, p_timezone) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
    when 'at' then
        perform queue.parse_moment(p_expression, p_timezone);
        return p_expression;
    when 'rate' then
        v_seconds := queue.parse_rate(p_expression);
        return regexp_replace(p_expression, '^rate\(\s*0*([0-9]+)\s+([a-z]+?)s?\s*\)$', 'rate(\1 \2')
            || case when p_expression ~ '[(\s]0*1\s' then ')' else 's)' end;
    else
        raise exception 'there is no form "%" here: cron, every, fire_at or aws', p_form using errcode = 'QU003';
    end case;
end $$;
