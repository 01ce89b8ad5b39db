-- queue.lease_boundary(queue, shard, low, most): returns the highest pos from p_low to p_most at which the leases can be
-- cut, because no later lease begins at or below it. It is at most 20,000 above p_low, or the first such pos if that is
-- farther. Returns null if no such pos exists. Leases overlap only within 200 messages (take_fair), so a lease that
-- overlaps another is among the next 200.
-- Index: lease_pkey.
create or replace function queue.lease_boundary(p_queue_id int, p_shard int, p_low bigint, p_most bigint)
returns bigint
language plpgsql stable as $$
declare
    v_most bigint := least(p_most, p_low + 20000);
    v_end bigint;
    v_candidate bigint;
begin
    loop
        select max(x.pos) into v_end from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > p_low and x.pos <= v_most;
        exit when v_end is null;
        select min(n.first_id) - 1 into v_candidate from (
            select x.first_id from queue.lease x
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_end order by x.pos limit 200) n;
        if coalesce(v_candidate >= v_end, true) then
            return v_end;
        end if;
        v_most := v_candidate;
    end loop;
    v_candidate := p_low;
    loop
        select min(x.pos) into v_end from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_candidate;
        exit when v_end is null or v_end > p_most;
        select max(n.pos) into v_candidate from (
            select x.pos, x.first_id from queue.lease x
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_end order by x.pos limit 200) n
        where n.first_id <= v_end;
        if v_candidate is null then
            return v_end;
        end if;
        v_candidate := v_candidate - 1;
    end loop;
    return null;
end $$;
