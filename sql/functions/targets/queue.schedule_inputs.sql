-- queue.schedule_inputs: returns the position n and the text for the target of each occurrence (schedule_input).
create or replace function queue.schedule_inputs(p_schedule_ids bigint[], p_at timestamptz[])
returns table (n int, input text)
language sql stable as $$
select u.n::int, queue.schedule_input(s, u.at, 1)
from unnest(p_schedule_ids, p_at) with ordinality u(schedule_id, at, n)
join queue.schedule s on s.schedule_id = u.schedule_id
order by u.n
$$;
