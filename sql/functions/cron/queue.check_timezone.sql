-- queue.check_timezone(name): raises QU003 unless the name is a time zone of the IANA database. PostgreSQL itself
-- accepts more: abbreviations, `UTC+3`, any case.
create or replace function queue.check_timezone(p_timezone text) returns void
language plpgsql stable as $$
begin
    if p_timezone not in ('UTC', 'Etc/UTC') and (p_timezone ~ '^(posix/|right/|posixrules|localtime|Factory)'
        or not exists (select from pg_timezone_names z where z.name = p_timezone))
    then
        raise exception '"%" is not a time zone of the IANA database', p_timezone using errcode = 'QU003',
            hint = 'Examples: UTC, America/New_York, Europe/Berlin';
    end if;
end $$;
