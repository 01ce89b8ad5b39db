-- queue.next_fires: returns the next times of a schedule expression. `canonical` is a result of queue.parse_schedule,
-- or a value of queue.schedule.canonical. `anchor` is the time from which a rate counts its intervals. The default is
-- `after`. Returns fewer than `count` times if the expression ends. All times are before the year 2200. Raises QU003 if
-- a parameter is invalid. SQL interface.
create or replace function queue.next_fires(
    canonical text, timezone text default 'UTC', after timestamptz default clock_timestamp(), count int default 5,
    anchor timestamptz default null)
returns setof timestamptz
language plpgsql stable rows 5 security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    if count not between 0 and 1000 then
        raise exception 'a count is 0 to 1000' using errcode = 'QU003';
    end if;
    if canonical like 'rate(%' then
        return query select * from queue.next_rate_fires(canonical, after, count, coalesce(anchor, after));
    elsif canonical like 'at(%' or canonical like '____-__-__T%' then
        return query select m.at from queue.parse_moment(canonical, timezone) m(at)
        where m.at > after and m.at <= timestamptz '2199-12-31 23:59:59Z' and count > 0;
    else
        return query select * from queue.next_cron_fires(canonical, timezone, after, count);
    end if;
end $$;
