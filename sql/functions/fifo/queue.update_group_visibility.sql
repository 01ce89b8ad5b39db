-- queue.update_group_visibility(group): update_groups for one group. The caller holds the group's row in
-- queue.fifo_group. Called by: changes to one group's messages.
drop function if exists queue.settle_group(bigint);
create or replace function queue.update_group_visibility(p_group_key bigint) returns void
language plpgsql as $$
begin
    perform queue.update_groups(array[p_group_key]);
end $$;
