-- queue.preview_schedule: computes when a schedule would fire. Stores nothing. The caller gives exactly one of the
-- first four parameters. `expression` is rate(), cron() or at(). Returns one row with the canonical expression and the
-- next times from now. Raises QU003 if a parameter is invalid. SQL interface.
create or replace function queue.preview_schedule(
    cron text default null, every text default null, fire_at text default null, expression text default null,
    timezone text default 'UTC', count int default 5)
returns table (canonical text, next_fires timestamptz[])
language plpgsql stable security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_canonical text;
begin
    if num_nonnulls(cron, every, fire_at, expression) <> 1 then
        raise exception 'exactly one of cron, every, fire_at and expression is given' using errcode = 'QU003';
    end if;
    v_canonical := queue.parse_schedule(
        case when cron is not null then 'cron' when every is not null then 'every'
             when fire_at is not null then 'fire_at' else 'aws' end,
        coalesce(cron, every, fire_at, expression), timezone);
    return query select v_canonical, array(
        select f.at from queue.next_fires(v_canonical, timezone, clock_timestamp(), count) f(at));
end $$;
