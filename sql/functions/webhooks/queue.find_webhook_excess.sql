-- queue.find_webhook_excess(most): notes the accounts of which p_most webhooks or more wait for their delivery, which then
-- publish none (publish_messages, publish_events), and forgets the others; p_most 0: all may. Returns how many it forgot.
-- Cost: a read of each pending webhook, as measure_installation does. Called by: the worker `maintain`.
create or replace function queue.find_webhook_excess(p_most int) returns bigint
language plpgsql as $$
declare
    v_forgotten bigint;
begin
    insert into queue.webhook_excess as e (account_id, waiting, counted_at)
    select w.account_id, count(*), clock_timestamp() from queue.webhook w
    where p_most > 0 and w.state = 'pending' group by w.account_id having count(*) >= p_most order by w.account_id
    on conflict (account_id) do update set waiting = excluded.waiting, counted_at = excluded.counted_at;
    delete from queue.webhook_excess e where e.counted_at < now();     -- not by this transaction
    get diagnostics v_forgotten = row_count;
    return v_forgotten;
end $$;
