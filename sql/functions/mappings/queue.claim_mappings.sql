-- queue.claim_mappings: registers a process as a poller for p_seconds, and assigns mappings to it. The process receives
-- the enabled event source mappings whose poller is not alive.
--   `p_declined` and `p_revisions` are the mappings that the settings of the process do not let it invoke. Other
--     processes receive these mappings.
-- With a p_seconds of 0, the process stops, and the function notifies the other processes. Returns the mappings of the
-- process with their revisions, or one row without a mapping if the process has no mappings.
--   `now_ms` is the time in milliseconds since 1970.
--   `next_end_ms` is the time until the earliest registration of another process expires, or null if no other process
--     is registered.
-- Writes nothing if no mapping is enabled, or while half of the registered time is left. Locks the poller's row and the
-- mappings that the poller takes. Skips locked mappings. Uses the index event_source_mapping_poller.
create or replace function queue.claim_mappings(
    p_poller_id uuid, p_seconds int, p_declined uuid[] default '{}', p_revisions bigint[] default '{}')
returns table (mapping_id uuid, revision bigint, now_ms bigint, next_end_ms int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_ids uuid[];
    v_next_end_ms int;
begin
    if not exists (select from queue.event_source_mapping m where m.enabled) then
        return;
    end if;
    delete from queue.poller p where p.alive_until < clock_timestamp() - interval '1 minute';
    -- Each commit makes long polls check all their queues, so most calls do not write.
    if p_seconds <= 0 or not exists (
        select from queue.poller p
        where p.poller_id = p_poller_id and p.alive_until > clock_timestamp() + p_seconds / 2 * interval '1 second')
    then
        insert into queue.poller as p (poller_id, alive_until)
        values (p_poller_id, clock_timestamp() + p_seconds * interval '1 second')
        on conflict (poller_id) do update set alive_until = excluded.alive_until;
    end if;
    if p_seconds <= 0 then
        perform queue.notify_processes('mappings');
        return;
    end if;
    update queue.event_source_mapping m set poller_id = null
    from unnest(p_declined, p_revisions) d(mapping_id, revision)
    where m.mapping_id = d.mapping_id and m.revision = d.revision and m.poller_id = p_poller_id;
    if found then
        perform queue.notify_processes('mappings');
    end if;
    v_ids := array(
        select f.mapping_id from queue.event_source_mapping f
        where f.enabled and f.poller_id is distinct from p_poller_id and not exists (
            select from queue.poller p where p.poller_id = f.poller_id and p.alive_until > clock_timestamp())
            and not exists (
                select from unnest(p_declined, p_revisions) d(mapping_id, revision)
                where d.mapping_id = f.mapping_id and d.revision = f.revision)
        for update skip locked);
    -- This statement checks the mappings again with a new snapshot. The search did not see the new poller of a mapping
    -- that another process has just taken.
    update queue.event_source_mapping m set poller_id = p_poller_id
    where m.mapping_id = any (v_ids) and not exists (
        select from queue.poller p where p.poller_id = m.poller_id and p.alive_until > clock_timestamp());
    select ceil(extract(epoch from min(p.alive_until) - clock_timestamp()) * 1000)::int into v_next_end_ms
    from queue.poller p where p.poller_id <> p_poller_id and p.alive_until > clock_timestamp();
    return query
    select m.mapping_id, m.revision, queue.epoch_ms(clock_timestamp()), v_next_end_ms
    from queue.event_source_mapping m where m.poller_id = p_poller_id and m.enabled;
    if not found then
        return query select null::uuid, null::bigint, queue.epoch_ms(clock_timestamp()), v_next_end_ms;
    end if;
end $$;
