-- queue.set_queue_attributes: replaces the given attributes. A null value removes an attribute. A change of a FIFO
-- queue's delay also applies to messages in the queue (delay_groups). If a queue starts to record a history again,
-- stores the time. `p_allowed` and `p_refused` are the subscriptions that a changed policy allows and refuses
-- (allow_subscriptions). The errors are:
--   `QueueDoesNotExist` means that the queue does not exist.
--   `SubscriptionsChanged` means that the lists are incomplete.
--   `ScopeNeeded` means that high throughput needs the DeduplicationScope messageGroup. The function then changes
--     nothing.
-- Locks the queue's row, then rows of FIFO groups, as purge_messages does.
-- This file also contains delay_groups.
create or replace function queue.set_queue_attributes(
    p_arn text, p_attributes jsonb, p_allowed uuid[], p_refused uuid[])
returns table (error text)
language plpgsql as $$
declare
    v_old queue.queues;
    v_new queue.queues;
    v_attributes jsonb;
begin
    select * into v_old from queue.queues q where q.arn = p_arn for no key update;
    v_attributes := jsonb_strip_nulls(v_old.attributes || p_attributes);
    if v_attributes ->> 'FifoThroughputLimit' = 'perMessageGroupId'
        and v_attributes ->> 'DeduplicationScope' is distinct from 'messageGroup'
    then
        return query select 'ScopeNeeded'::text;
        return;
    end if;
    if not queue.allow_subscriptions(p_arn, p_allowed, p_refused) then
        return query select 'SubscriptionsChanged'::text;
        return;
    end if;
    update queue.queues q set attributes = v_attributes, modified_at = clock_timestamp(),
        history_since = case when not q.keeps_history and coalesce((v_attributes ->> 'history')::boolean, true)
            then clock_timestamp() else q.history_since end
    where q.arn = p_arn returning * into v_new;
    if v_new.fifo and v_new.delay_seconds <> v_old.delay_seconds then
        perform queue.delay_groups(v_new.queue_id, v_new.delay_seconds);
        perform queue.notify_watchers(v_new.queue_id, p_arn);
    end if;
    if v_old.paused and not v_new.paused then
        perform queue.notify_watchers(v_new.queue_id, p_arn);
    end if;
    return query select case when v_new.queue_id is null then 'QueueDoesNotExist' end;
end $$;

-- queue.delay_groups: applies a changed DelaySeconds of a FIFO queue to its unreceived messages. On FIFO queues the
-- setting is retroactive (Developer Guide, "Delay queues"). Waits for locks on the rows of the changed groups, in the
-- order of their keys. Uses the indexes fifo_group_queue_id_group_id_key and fifo_message_of_group.
create or replace function queue.delay_groups(p_queue_id int, p_delay_seconds int) returns void
language plpgsql as $$
declare
    v_group bigint;
    v_delay interval := p_delay_seconds * interval '1 second';
    v_now timestamptz := clock_timestamp();
begin
    for v_group in
        select g.group_key from queue.fifo_group g
        where g.queue_id = p_queue_id and exists (
            select from queue.fifo_message m
            where m.group_key = g.group_key and m.group_key > 0 and m.receive_count = 0
                and (m.visible_at > v_now or m.sent_at + v_delay > v_now))
        order by g.group_key
    loop
        perform from queue.fifo_group g where g.group_key = v_group for update;
        update queue.fifo_message m set visible_at = m.sent_at + v_delay
        where m.group_key = v_group and m.group_key > 0 and m.receive_count = 0
            and (m.visible_at > v_now or m.sent_at + v_delay > v_now);
        perform queue.update_groups(array[v_group]);
    end loop;
end $$;
