-- queue.give_back_space(): queue.reclaim_space, under the name that the previous release calls.
-- Called by: the worker `maintain` of the previous release.
create or replace function queue.give_back_space() returns int
language sql as $$
select queue.reclaim_space()
$$;
