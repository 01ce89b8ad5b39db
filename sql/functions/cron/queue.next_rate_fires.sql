-- queue.next_rate_fires: returns the next times of the series anchor, anchor + rate, anchor + 2 rates … The times are
-- whole seconds, and a day has 24 hours. Raises QU003 if the expression is invalid.
create or replace function queue.next_rate_fires(
    p_canonical text, p_after timestamptz, p_count int, p_anchor timestamptz)
returns setof timestamptz
language sql stable parallel safe as $$
    select f.at
    from (select date_trunc('second', p_anchor, 'utc') as anchor, queue.parse_rate(p_canonical) as seconds) r
    cross join lateral (
        select greatest(0, floor(extract(epoch from p_after - r.anchor) / r.seconds) + 1)::bigint as passed) p
    cross join lateral (
        select r.anchor + make_interval(secs => (p.passed + n) * r.seconds::double precision) as at
        from generate_series(0, p_count - 1) n) f
    where f.at <= timestamptz '2199-12-31 23:59:59Z' order by f.at;
$$;
