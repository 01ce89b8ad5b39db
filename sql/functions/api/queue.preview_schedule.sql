-- queue.preview_schedule(cron, every, fire_at, expression, timezone, count): when a schedule would fire; nothing is stored.
-- Exactly one of the first four is given; p_expression is one of AWS: rate(), cron() or at(). Returns one row: the
-- canonical expression and the next times from now. Raises QU003. SQL interface.
create or replace function queue.preview_schedule(
    p_cron text default null, p_every text default null, p_fire_at text default null, p_expression text default null,
    p_timezone text default 'UTC', p_count int default 5)
returns table (canonical text, next_fires timestamptz[])
language plpgsql stable as $$
declare
    v_canonical text;
begin
    if num_nonnulls(p_cron, p_every, p_fire_at, p_expression) <> 1 then
        raise exception 'exactly one of cron, every, fire_at and expression is given' using errcode = 'QU003';
    end if;
    v_canonical := queue.parse_schedule(
        case when p_cron is not null then 'cron' when p_every is not null then 'every'
             when p_fire_at is not null then 'fire_at' else 'aws' end,
        coalesce(p_cron, p_every, p_fire_at, p_expression), p_timezone);
    return query select v_canonical, array(
        select f.at from queue.next_fires(v_canonical, p_timezone, clock_timestamp(), p_count) f(at));
end $$;
