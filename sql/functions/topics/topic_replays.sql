-- Steps of the worker that replays archived messages to subscriptions. A step is one transaction: claim, read, deliver.

-- queue.hold_publications: waits for the publications of a FIFO topic that have begun, and stops others until the end
-- of the transaction. Takes all locks of number_publications, in the order of their keys.
create or replace function queue.hold_publications(p_topic_id int) returns void
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(queue.lock_key(4, p_topic_id, k.part)) from generate_series(0, 63) k(part);
end $$;

-- queue.is_replay_due: returns whether a replay has messages to deliver or can end.
create or replace function queue.is_replay_due(p_replay queue.topic_replay) returns boolean
language sql stable
return p_replay.status in ('Pending', 'In progress') and p_replay.due_at <= (select clock_timestamp())
    and (coalesce(p_replay.ends_at <= clock_timestamp(), true) or p_replay.page < (
        select p.page from queue.event_page p where p.bus_id = p_replay.archive_id order by p.page desc limit 1));

-- queue.claim_replay: locks the subscription whose replay from an archive has waited for the longest, until the end of
-- the transaction. Returns no row if no replay is due, if other workers deliver the due ones, or if replays pause
-- (read_replay_pause).
--   `starts_at` is not before the time of the oldest message that the archive retains.
--   `last_page` is null if more than one page is left. Otherwise the function has stopped publications of the topic and
--     given places to all committed messages, and no later page has a message of the replay.
create or replace function queue.claim_replay(p_archive_id bigint)
returns table (subscription_id uuid, topic_arn text, replay_id bigint, page bigint, starts_at timestamptz,
    ends_at timestamptz, last_page bigint)
language plpgsql as $$
#variable_conflict use_column
declare
    v_id uuid;
    v_replay queue.topic_replay;
    v_bus queue.event_bus;
    v_last_page bigint;
begin
    select s.subscription_id into v_id
    from queue.topic_replay r join queue.subscription s on s.subscription_id = r.subscription_id
    where r.archive_id = p_archive_id and r.status in ('Pending', 'In progress')
        and r.due_at <= (select clock_timestamp()) and queue.is_replay_due(r)
        and queue.read_replay_pause((select clock_timestamp())) is null
    order by r.due_at limit 1 for no key update of s skip locked;
    -- Another worker can have moved the replay before this transaction received the lock.
    select * into v_replay from queue.topic_replay r where r.subscription_id = v_id;
    select * into v_bus from queue.event_bus b where b.bus_id = v_replay.archive_id;
    if v_bus.bus_id is null or v_replay.archive_id <> p_archive_id or not queue.is_replay_due(v_replay) then
        return;
    end if;
    if coalesce(v_replay.ends_at <= clock_timestamp(), true) and not exists (
        select from queue.event_page p
        where p.bus_id = v_bus.bus_id and p.page > v_replay.page + 1
            and (v_replay.ends_at is null or p.first_at <= v_replay.ends_at))
    then
        perform queue.hold_publications(v_bus.topic_id);
        perform queue.find_last_event_page(v_bus.bus_id);
        v_last_page := (
            select coalesce(max(p.page), v_replay.page) from queue.event_page p
            where p.bus_id = v_bus.bus_id and p.page > v_replay.page
                and (v_replay.ends_at is null or p.first_at <= v_replay.ends_at));
    end if;
    return query select v_id, v_bus.arn, v_replay.replay_id, v_replay.page,
        greatest(v_replay.starts_at, clock_timestamp() - make_interval(days => v_bus.retention_days)),
        v_replay.ends_at, v_last_page;
end $$;

-- queue.deliver_replayed: delivers messages of a replay to its subscription, as fan_out delivers publications, and
-- moves the replay to p_page. Returns the numbers of messages that the filter policy accepts, and of those that the
-- queue has refused. The caller has claimed the replay.
--   `p_publications` has the format of publish_messages.
--   `p_completes` ends the replay. Without an EndingPoint, the subscription then receives publications.
--   `p_yields` pauses all replays for as long as the transaction has lasted.
create or replace function queue.deliver_replayed(
    p_subscription_id uuid, p_page bigint, p_completes boolean, p_publications jsonb[], p_yields boolean)
returns table (accepted int, refused int)
language plpgsql as $$
declare
    v_subscription queue.subscription;
    v_topic queue.topic;
    v_accepted jsonb[];
    v_failed jsonb[];
begin
    select * into v_subscription from queue.subscription s where s.subscription_id = p_subscription_id;
    select * into v_topic from queue.topic t where t.topic_id = v_subscription.topic_id;
    v_accepted := array(
        select u.p from unnest(p_publications) with ordinality u(p, n)
        where v_subscription.filter is null
            or queue.policy_matches(v_subscription.filter, u.p -> 'facts' -> v_subscription.filter_scope)
        order by u.n);
    if v_accepted <> '{}' then
        v_failed := v_accepted;
        if v_subscription.target_allowed then
            v_failed := queue.publish_to_queue(v_topic, v_subscription, v_subscription.endpoint, v_accepted);
        end if;
        if v_failed is not null and v_subscription.dead_letter_arn is not null
            and queue.publish_dead_letters(v_topic, v_subscription, v_failed)
        then
            perform queue.wake_deliveries();
        end if;
    end if;
    update queue.topic_replay r
    set page = p_page, due_at = clock_timestamp(),
        status = case when p_completes then 'Completed' else 'In progress' end,
        resumes_at = case when p_yields
            then clock_timestamp() + least(clock_timestamp() - transaction_timestamp(), interval '1 second') end
    where r.subscription_id = p_subscription_id;
    if p_completes then
        update queue.subscription s set archive_id = null
        from queue.topic_replay r
        where s.subscription_id = p_subscription_id and r.subscription_id = s.subscription_id and r.ends_at is null;
    end if;
    return query select cardinality(v_accepted), coalesce(cardinality(v_failed), 0);
end $$;

-- queue.delay_replay: lets a replay wait for p_seconds after a failed step. `delayed` says whether the replay exists.
create or replace function queue.delay_replay(p_subscription_id uuid, p_seconds int) returns table (delayed boolean)
language plpgsql as $$
begin
    update queue.topic_replay r set due_at = clock_timestamp() + p_seconds * interval '1 second'
    where r.subscription_id = p_subscription_id;
    return query select found;
end $$;
