-- queue.check_schedule: raises QU003 if a schedule of the REST API has an invalid name, routing key, header or option.
create or replace function queue.check_schedule(p_name text, p_topic text, p_headers jsonb, p_options jsonb)
returns void
language plpgsql as $$
declare
    v_unknown text;
begin
    if p_name is null or p_name !~ '^[a-z0-9_-]{1,64}$' then
        raise exception 'a schedule''s name is 1 to 64 of a-z, 0-9, _ and -' using errcode = 'QU003';
    elsif jsonb_typeof(p_headers) <> 'object' or p_headers ? '_schedule' then
        raise exception 'headers are a JSON object without _schedule' using errcode = 'QU003';
    elsif p_topic is not null then
        perform queue.check_routing_key(p_topic);
    end if;
    select k into v_unknown from jsonb_object_keys(p_options) k
    where k not in ('jitter_seconds', 'catchup', 'catchup_limit', 'failure_threshold', 'overlap', 'start_at', 'end_at')
    limit 1;
    if v_unknown is not null then
        raise exception 'there is no option %', v_unknown using errcode = 'QU003';
    elsif (p_options ->> 'jitter_seconds')::int not between 0 and 86400
        or (p_options ->> 'catchup_limit')::int not between 1 and 10000
        or (p_options ->> 'failure_threshold')::int not between 1 and 1000
        or p_options ->> 'overlap' not in ('allow', 'skip')
    then
        raise exception 'jitter_seconds is 0 to 86400, catchup_limit 1 to 10000, failure_threshold 1 to 1000, overlap '
            'allow or skip' using errcode = 'QU003';
    end if;
end $$;
