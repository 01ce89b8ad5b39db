-- Which requests of a function of Lambda wait in long polls: at most so many at once (queue.take_poll_slot). A row a slot
-- and function, updated in place. Unlogged: without it some more requests wait at once.
create unlogged table queue.poll_slot (
    function_name text not null,
    slot int not null,
    holder uuid not null,
    ends_at timestamptz not null,       -- of a slot that is free: in the past
    primary key (function_name, slot)
) with (fillfactor = 50);
comment on table queue.poll_slot is 'Requests that wait in long polls of functions of Lambda.';
