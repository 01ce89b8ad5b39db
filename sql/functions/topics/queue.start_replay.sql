-- queue.start_replay: begins or ends the replay of a subscription according to its ReplayPolicy, and replaces an
-- earlier replay. From the commit on, the subscription receives only the messages of the replay. Without a policy, the
-- subscription receives publications again. The caller has locked the topic's row and then the subscription's row,
-- so no step of a replay runs. Waits for publications that have begun, so that the publication or the replay delivers
-- each message from the StartingPoint on.
create or replace function queue.start_replay(p_topic queue.topic, p_subscription_id uuid) returns void
language plpgsql as $$
declare
    v_policy jsonb;
    v_start timestamptz;
begin
    perform queue.hold_publications(p_topic.topic_id);
    delete from queue.topic_replay r where r.subscription_id = p_subscription_id;
    update queue.subscription s
    set archive_id = case when nullif(s.attributes ->> 'ReplayPolicy', '') is not null then p_topic.archive_id end
    where s.subscription_id = p_subscription_id
    returning nullif(s.attributes ->> 'ReplayPolicy', '')::jsonb into v_policy;
    if v_policy is null then
        return;
    end if;
    v_start := least((v_policy ->> 'StartingPoint')::timestamptz, clock_timestamp());
    insert into queue.topic_replay (subscription_id, archive_id, starts_at, ends_at, page)
    -- A message has a place only after its publication, so no earlier page has a message of this time.
    select p_subscription_id, p_topic.archive_id, v_start, (v_policy ->> 'EndingPoint')::timestamptz, coalesce((
            select p.page - 1 from queue.event_page p
            where p.bus_id = p_topic.archive_id and p.sequenced_at >= v_start
            order by p.sequenced_at, p.page limit 1), (
            select p.page from queue.event_page p where p.bus_id = p_topic.archive_id order by p.page desc limit 1), 0);
    perform queue.wake_event_delivery();
end $$;
