-- queue.parse_schedule: returns the canonical expression, as queue.schedule stores it. The forms are cron, every,
-- fire_at, rate, aws_cron, at and aws. The form `aws` accepts rate(), cron() and at(). Only REST and the command
-- line also read plain sentences (`when`). Raises QU003 if the expression, form or time zone is invalid. SQL interface.
create or replace function queue.parse_schedule(form text, expression text, timezone text default 'UTC')
returns text
language plpgsql stable security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_form text := case when form <> 'aws' then form when expression like 'rate(%' then 'rate'
                        when expression like 'at(%' then 'at' else 'aws_cron' end;
    v_cron text := upper(regexp_replace(btrim(expression, E' \t\r\n'), E'[ \\t\\r\\n]+', ' ', 'g'));
    v_seconds bigint;
begin
    -- Without this check, PostgreSQL would also accept abbreviations, `UTC+3`, and names in upper or lower case.
    if timezone not in ('UTC', 'Etc/UTC') and (timezone ~ '^(posix/|right/|posixrules|localtime|Factory)'
        or not exists (select from pg_timezone_names z where z.name = parse_schedule.timezone))
    then
        raise exception '"%" is not a time zone of the IANA database', timezone using errcode = 'QU003',
            hint = 'Examples: UTC, America/New_York, Europe/Berlin';
    end if;
    if length(expression) > 256 or expression ~ $re$[^\t\n\r -~]$re$
        or (expression like 'cron(%') <> (v_form = 'aws_cron')
        or (expression like 'at(%') <> (v_form = 'at')
    then
        raise exception 'not a schedule expression of the form %: "%"', form, left(expression, 256)
            using errcode = 'QU003';
    end if;
    case v_form
    when 'cron' then
        perform queue.parse_cron(expression);
        return regexp_replace(v_cron, E'(?<= )\\?(?= |$)', '*', 'g');
    when 'aws_cron' then
        perform queue.parse_cron(expression);
        return regexp_replace(regexp_replace(v_cron, E'^CRON\\( ?', 'cron('), E' \\)$', ')');
    when 'every' then
        return queue.parse_every(expression);
    when 'fire_at' then
        return to_char(queue.parse_moment(expression, timezone) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
    when 'at' then
        perform queue.parse_moment(expression, timezone);
        return expression;
    when 'rate' then
        v_seconds := queue.parse_rate(expression);
        return regexp_replace(expression, E'^rate\\(\\s*0*([0-9]+)\\s+([a-z]+?)s?\\s*\\)$', E'rate(\\1 \\2')
            || case when expression ~ E'[(\\s]0*1\\s' then ')' else 's)' end;
    else
        raise exception 'there is no form "%" here: cron, every, fire_at or aws', form using errcode = 'QU003';
    end case;
end $$;
