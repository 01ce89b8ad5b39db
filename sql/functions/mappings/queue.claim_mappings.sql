-- queue.claim_mappings(poller, seconds): says that a process polls for that long, and gives it the enabled event source
-- mappings that no living process polls for. 0 seconds: it stops, and others are told. Returns all that it polls for, with
-- their revisions, and the time in milliseconds since 1970. Without mappings it writes nothing, nor while what it has said
-- holds for half as long.
-- Locks: the poller's row, and those of the mappings that it takes (others skip them). Index: event_source_mapping_poller.
create or replace function queue.claim_mappings(p_poller_id uuid, p_seconds int)
returns table (mapping_id uuid, revision bigint, now_ms bigint)
language plpgsql as $$
#variable_conflict use_column
declare
    v_ids uuid[];
begin
    if not exists (select from queue.event_source_mapping m where m.enabled) then
        return;
    end if;
    delete from queue.poller p where p.alive_until < clock_timestamp() - interval '1 minute';
    if p_seconds <= 0 or not exists (      -- a commit makes long polls look at all their queues: not in each call
        select from queue.poller p
        where p.poller_id = p_poller_id and p.alive_until > clock_timestamp() + p_seconds / 2 * interval '1 second')
    then
        insert into queue.poller as p (poller_id, alive_until)
        values (p_poller_id, clock_timestamp() + p_seconds * interval '1 second')
        on conflict (poller_id) do update set alive_until = excluded.alive_until;
    end if;
    if p_seconds <= 0 then
        perform pg_notify('penstock', 'mappings');
        return;
    end if;
    v_ids := array(
        select f.mapping_id from queue.event_source_mapping f
        where f.enabled and f.poller_id is distinct from p_poller_id and not exists (
            select from queue.poller p where p.poller_id = f.poller_id and p.alive_until > clock_timestamp())
        for update skip locked);
    -- Asked again with a new snapshot: one that another has just taken has a poller that the search did not see.
    update queue.event_source_mapping m set poller_id = p_poller_id
    where m.mapping_id = any (v_ids) and not exists (
        select from queue.poller p where p.poller_id = m.poller_id and p.alive_until > clock_timestamp());
    return query
    select m.mapping_id, m.revision, queue.epoch_ms(clock_timestamp()) from queue.event_source_mapping m where m.poller_id = p_poller_id and m.enabled;
end $$;
