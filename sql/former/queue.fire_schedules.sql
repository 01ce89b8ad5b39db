-- queue.fire_schedules: without runs of skipped occurrences.
-- Called by: the worker `fire` of the previous release.
do $$ begin     -- `create or replace` cannot rename the parameters that the previous release gave it
    if 'p_letters' = any ((
        select proargnames from pg_proc where oid = to_regprocedure('queue.fire_schedules(bigint[], timestamptz[], text[], int[], timestamptz[], jsonb[])'))::text[])
    then
        drop function queue.fire_schedules(bigint[], timestamptz[], text[], int[], timestamptz[], jsonb[]);
    end if;
end $$;
create or replace function queue.fire_schedules(
    p_schedule_ids bigint[], p_next_fire_at timestamptz[], p_notes text[], p_counts int[], p_at timestamptz[],
    p_topic_messages jsonb[])
returns table (schedule_id bigint, outcome text, fired int, skipped int, failed int, detail text)
language sql as $$
select * from queue.fire_schedules(p_schedule_ids, p_next_fire_at, p_notes,
    array_fill(null::timestamptz, array[cardinality(p_schedule_ids)]), p_counts, p_at, p_topic_messages)
$$;
