-- queue.noisy_groups: the tenants of a standard queue whose messages are to be skipped now, first those with the fewest
-- messages in flight; null when there are none. One receiver finds them (find_noisy_groups), at most four times a
-- second. No tenant becomes noisy while no message has to wait: as long as the shard holds no more than the p_want
-- messages above p_pos that are received now. Locks: the row in queue.noise, to the end of the transaction; a receiver
-- that finds it locked takes the stored result. Index: noise_pkey, log_pkey.
create or replace function queue.noisy_groups(
    p_queue_id int, p_shards int, p_shard int, p_pos bigint, p_want int, p_now timestamptz)
returns text[]
language plpgsql as $$
declare
    v_noise queue.noise;
begin
    select * into v_noise from queue.noise n where n.queue_id = p_queue_id;
    if v_noise.judged_at between p_now - interval '250 milliseconds' and p_now + interval '1 second'
        or (v_noise.noisy is null and not exists (
            select from (
                select l.id from queue.log l
                where l.queue_id = p_queue_id and l.shard = p_shard and l.id > p_pos
                order by l.id offset p_want limit 1) l))
    then
        return v_noise.noisy;
    end if;
    perform from queue.noise n where n.queue_id = p_queue_id for update skip locked;
    if found then
        v_noise.noisy := queue.find_noisy_groups(p_queue_id, p_shards, p_now);
        update queue.noise n set noisy = v_noise.noisy, judged_at = p_now where n.queue_id = p_queue_id;
    end if;
    return v_noise.noisy;
end $$;
