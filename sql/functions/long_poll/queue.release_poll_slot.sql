-- queue.release_poll_slot(function, holder): gives back the slot that take_poll_slot gave to this holder. Returns it; no
-- row: it has ended, and another holder has it.
create or replace function queue.release_poll_slot(p_function_name text, p_holder uuid) returns table (slot int)
language sql as $$
update queue.poll_slot p set ends_at = '-infinity'
where p.function_name = p_function_name and p.holder = p_holder
returning p.slot
$$;
