-- queue.fire_schedules: without runs of skipped occurrences.
-- Called by: the worker `fire` of the previous release.
drop function if exists queue.fire_schedules(bigint[], timestamptz[], text[], int[], timestamptz[], jsonb[]);
create function queue.fire_schedules(
    p_schedule_ids bigint[], p_next_fire_at timestamptz[], p_notes text[], p_counts int[], p_at timestamptz[],
    p_topic_messages jsonb[])
returns table (schedule_id bigint, outcome text, fired int, skipped int, failed int, detail text)
language sql as $$
select * from queue.fire_schedules(p_schedule_ids, p_next_fire_at, p_notes,
    array_fill(null::timestamptz, array[cardinality(p_schedule_ids)]), p_counts, p_at, p_topic_messages)
$$;
