-- queue.read_schedule: returns a schedule as JSON by column, or null. `now` is the database's time, from which the
-- caller computes occurrences.
create or replace function queue.read_schedule(p_account_id text, p_region text, p_group text, p_name text)
returns table (now timestamptz, schedule jsonb)
language sql volatile as $$
select clock_timestamp(), (
    select to_jsonb(s) from queue.schedule s
    where s.account_id = p_account_id and s.region = p_region and s.group_name = p_group and s.name = p_name)
$$;
