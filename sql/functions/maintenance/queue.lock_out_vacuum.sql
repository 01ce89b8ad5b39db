-- queue.lock_out_vacuum: keeps vacuum from partitions until the end of the transaction, or returns false. A drop locks
-- the partitioned table before it waits for a vacuum of the partition, and every statement on the table would wait too.
-- PostgreSQL cancels an automatic vacuum after deadlock_timeout, which is 1 s by default. Blocks only vacuum and
-- changes of the partitions. Runs with the rights of its owner, which owns the partitions.
create or replace function queue.lock_out_vacuum(p_partitions text[]) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '3s' as $$
declare
    v_partition text;
begin
    foreach v_partition in array p_partitions loop
        execute format('lock table queue.%I in share update exclusive mode', v_partition);
    end loop;
    return true;
exception when lock_not_available then
    return false;
end $$;
