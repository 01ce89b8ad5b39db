-- queue.take_poll_slot: takes a slot in which a Lambda function's request can long-poll. Returns no row if all p_slots
-- slots are taken. The slot ends after p_seconds, because a frozen or killed environment does not release its slot. An
-- advisory lock admits one of a Lambda function's callers at a time.
-- This file also contains release_poll_slot.
create or replace function queue.take_poll_slot(p_function_name text, p_holder uuid, p_slots int, p_seconds float8)
returns table (slot int)
language plpgsql as $$
#variable_conflict use_column
begin
    perform pg_advisory_xact_lock(queue.lock_key(7, hashtext(p_function_name) & 2147483647, 0));
    return query
    insert into queue.poll_slot as taken (function_name, slot, holder, ends_at)
    select p_function_name, s.slot, p_holder, clock_timestamp() + p_seconds * interval '1 second'
    from generate_series(1, p_slots) s(slot)
    where not exists (
        select from queue.poll_slot p
        where p.function_name = p_function_name and p.slot = s.slot and p.ends_at > clock_timestamp())
    order by s.slot limit 1
    on conflict (function_name, slot) do update set holder = excluded.holder, ends_at = excluded.ends_at
    returning taken.slot;
end $$;

-- queue.release_poll_slot: releases the slot that take_poll_slot gave to a holder. Returns no row if the slot has ended
-- and belongs to another holder.
create or replace function queue.release_poll_slot(p_function_name text, p_holder uuid) returns table (slot int)
language sql as $$
update queue.poll_slot p set ends_at = '-infinity'
where p.function_name = p_function_name and p.holder = p_holder
returning p.slot
$$;
