-- Reads and changes of topics.

-- queue.drop_topic: deletes a topic and its subscriptions. `dropped` says whether the function deleted the topic. The
-- worker still delivers earlier messages. The function maintain_topics removes the topic's deduplication ids. A new
-- topic with the same name does not use these ids.
--   `error` is InvalidState for a topic with an archive, otherwise null.
create or replace function queue.drop_topic(p_arn text) returns table (dropped boolean, error text)
language plpgsql as $$
declare
    v_dropped boolean;
begin
    delete from queue.topic t where t.arn = p_arn and t.archive_id is null;
    v_dropped := found;
    return query select v_dropped, case when not v_dropped and exists (select from queue.topic t where t.arn = p_arn)
        then 'InvalidState' end;
end $$;

-- queue.replace_topic_policy: replaces a topic's access policy if the policy still is p_old. Null means the default
-- policy. `replaced` says whether the function replaced the policy.
create or replace function queue.replace_topic_policy(p_arn text, p_old text, p_new text)
returns table (replaced boolean)
language plpgsql as $$
begin
    update queue.topic t
    set attributes = jsonb_strip_nulls(t.attributes || jsonb_build_object('Policy', p_new))
    where t.arn = p_arn and t.attributes ->> 'Policy' is not distinct from p_old;
    return query select found;
end $$;

-- queue.describe_topic: returns a topic's attributes and tags as JSON texts, the numbers of its confirmed and pending
-- subscriptions, and the time of the oldest message that its archive can have, or null if it has no archive. Returns no
-- row for an unknown topic.
create or replace function queue.describe_topic(p_arn text)
returns table (attributes text, tags text, confirmed bigint, pending bigint, archived_since_ms bigint)
language sql stable as $$
select t.attributes::text, t.tags::text,
    (select count(*) from queue.subscription s where s.topic_id = t.topic_id and s.confirmed),
    (select count(*) from queue.subscription s where s.topic_id = t.topic_id and not s.confirmed),
    (select queue.epoch_ms(greatest(b.retained_since, clock_timestamp() - make_interval(days => b.retention_days)))
    from queue.event_bus b where b.bus_id = t.archive_id)
from queue.topic t where t.arn = p_arn
$$;

-- queue.list_topic_page: returns ARNs and names of an account's topics in a region, by name. `p_after` restricts the
-- result to later names. Null means all names.
create or replace function queue.list_topic_page(p_account_id text, p_region text, p_after text, p_limit int)
returns table (arn text, name text)
language sql stable as $$
select t.arn, t.name from queue.topic t
where t.account_id = p_account_id and t.region = p_region and t.name > coalesce(p_after, '')
order by t.name
limit p_limit
$$;

-- queue.tag_topic: adds tags or replaces their values. A topic can have at most p_limit tags. `error` is
-- TopicResourceNotFound or TagLimitExceeded.
create or replace function queue.tag_topic(p_arn text, p_tags jsonb, p_limit int) returns table (error text)
language plpgsql as $$
declare
    v_count int;
begin
    select (select count(*) from jsonb_object_keys(t.tags || p_tags)) into v_count
    from queue.topic t where t.arn = p_arn for update;
    if v_count <= p_limit then
        update queue.topic t set tags = t.tags || p_tags where t.arn = p_arn;
    end if;
    return query select case when v_count is null then 'TopicResourceNotFound'
        when v_count > p_limit then 'TagLimitExceeded' end;
end $$;

-- queue.untag_topic: removes tags. Ignores missing keys. `error` is TopicResourceNotFound or null.
create or replace function queue.untag_topic(p_arn text, p_keys text[]) returns table (error text)
language plpgsql as $$
begin
    update queue.topic t set tags = t.tags - p_keys where t.arn = p_arn;
    return query select case when not found then 'TopicResourceNotFound' end;
end $$;

-- queue.create_topic: creates a topic. Returns the topic's ARN. If the topic exists with the given attributes and tags,
-- only returns the topic's ARN.
--   `p_defaults` contains the values of attributes that the topic does not store.
--   `error` is TopicExists or null.
--   `detail` is the part that differs, Attributes or Tags.
create or replace function queue.create_topic(
    p_account_id text, p_region text, p_name text, p_attributes jsonb, p_tags jsonb,
    p_defaults jsonb default '{}')
returns table (arn text, created boolean, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_topic queue.topic;
begin
    insert into queue.topic (account_id, region, name, attributes, tags)
    values (p_account_id, p_region, p_name, p_attributes, p_tags)
    on conflict do nothing
    returning * into v_topic;
    if found then
        perform queue.store_topic_archive(v_topic);
        return query select v_topic.arn, true, null::text, null::text;
        return;
    end if;
    select * into v_topic from queue.topic t
    where t.account_id = p_account_id and t.region = p_region and t.name = p_name;
    return query
    select v_topic.arn, false, case when d.what is not null then 'TopicExists' end, d.what
    from (select case when queue.differing_attribute(p_defaults || v_topic.attributes, p_attributes) is not null
                      then 'Attributes'
                      when not v_topic.tags @> p_tags then 'Tags' end as what) d;
end $$;

-- queue.change_topic: replaces the given attributes. A null value removes an attribute.
--   `NotFound` means that the topic does not exist.
--   `LargeMessages` means that the MaximumMessageSize exceeds 256 KiB. A topic for such large messages can have at most
--     100 subscriptions, of queues, Firehose or Lambda (SetTopicAttributes, API reference).
-- Locks the topic's row. The functions add_subscription and set_subscription_attributes take a shared lock on this row.
create or replace function queue.change_topic(p_arn text, p_attributes jsonb) returns table (error text)
language plpgsql as $$
declare
    v_topic_id int;
    v_topic queue.topic;
begin
    select t.topic_id into v_topic_id from queue.topic t where t.arn = p_arn for update;
    if v_topic_id is null then
        return query select 'NotFound'::text;
    elsif (p_attributes ->> 'MaximumMessageSize')::int > 262144 and (
            exists (select from queue.subscription s
                where s.topic_id = v_topic_id and s.protocol not in ('sqs', 'firehose', 'lambda'))
            or (select count(*) from queue.subscription s where s.topic_id = v_topic_id) > 100) then
        return query select 'LargeMessages'::text;
    else
        update queue.topic t set attributes = jsonb_strip_nulls(t.attributes || p_attributes)
        where t.topic_id = v_topic_id returning * into v_topic;
        if p_attributes ? 'ArchivePolicy' then
            perform queue.store_topic_archive(v_topic);
        end if;
        return query select null::text;
    end if;
end $$;

-- queue.store_topic_archive: creates, changes or deletes the archive of a topic according to its ArchivePolicy. The end
-- of an archive ends its replays, and the subscriptions receive publications again. The caller has locked the topic.
create or replace function queue.store_topic_archive(p_topic queue.topic) returns void
language plpgsql as $$
declare
    v_days int := nullif(p_topic.attributes ->> 'ArchivePolicy', '')::jsonb ->> 'MessageRetentionPeriod';
    v_archive_id bigint;
begin
    if v_days is null then
        update queue.topic t set archive_id = null where t.topic_id = p_topic.topic_id and t.archive_id is not null;
        if found then
            -- Waits for the steps of the replays.
            perform from queue.subscription s where s.topic_id = p_topic.topic_id order by s.subscription_id for update;
            update queue.subscription s set archive_id = null
            where s.topic_id = p_topic.topic_id and s.archive_id is not null;
            update queue.topic_replay r set status = 'Failed'
            where r.archive_id = p_topic.archive_id and r.status in ('Pending', 'In progress');
            delete from queue.event_bus b where b.topic_id = p_topic.topic_id;
        end if;
    elsif p_topic.archive_id is not null then
        perform queue.update_event_bus(p_topic.arn, jsonb_build_object('retention_days', v_days));
    else
        insert into queue.event_bus (account_id, region, name, arn, retention_days, topic_id)
        values (p_topic.account_id, p_topic.region, 'sns/' || p_topic.name, p_topic.arn, v_days, p_topic.topic_id)
        returning bus_id into v_archive_id;
        update queue.topic t set archive_id = v_archive_id where t.topic_id = p_topic.topic_id;
        perform queue.notify_processes('events');   -- The workers begin to wait for publications.
    end if;
    if v_days is not null then
        perform queue.add_event_partitions(queue.retention_class(v_days));
    end if;
end $$;
