-- queue.next_fires(canonical, timezone, after, count, anchor): the next times of an expression of parse_schedule or of the
-- column queue.schedule.canonical; fewer than p_count when there are no more. p_anchor: where a rate counts from, and its
-- first time (default: after). Nothing fires after 2199. Raises QU003. SQL interface.
-- Its counterpart in Python is scheduler/expressions/expression.py; test_schedule_expressions compares the two.
create or replace function queue.next_fires(
    p_canonical text, p_timezone text default 'UTC', p_after timestamptz default clock_timestamp(), p_count int default 5,
    p_anchor timestamptz default null)
returns setof timestamptz
language plpgsql stable rows 5 as $$
begin
    if p_count not between 0 and 1000 then
        raise exception 'a count is 0 to 1000' using errcode = 'QU003';
    end if;
    if p_canonical like 'rate(%' then
        return query select * from queue.next_rate_fires(p_canonical, p_after, p_count, coalesce(p_anchor, p_after));
    elsif p_canonical like 'at(%' or p_canonical like '____-__-__T%' then
        return query select m.at from queue.parse_moment(p_canonical, p_timezone) m(at)
        where m.at > p_after and m.at <= timestamptz '2199-12-31 23:59:59Z' and p_count > 0;
    else
        return query select * from queue.next_cron_fires(p_canonical, p_timezone, p_after, p_count);
    end if;
end $$;
