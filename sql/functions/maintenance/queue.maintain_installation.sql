-- queue.maintain_installation: removes the rows that maintain_queue does not remove. Returns the number of removed
-- rows. The worker calls the function again soon if the number is not 0. The number therefore omits partitions, outcome
-- counts, and the rows that clean_expired_rows does not count. The function removes at most `p_limit` rows of each
-- table. `p_part` selects one part, and null selects all parts. The worker calls each part separately, so that a
-- locked or damaged table delays only one part:
--   `expired_rows` removes expired deduplication ids and ReceiveRequestAttemptIds, registrations of watchers, passwords
--     of URLs that have no subscription, and counts of past firings. It removes receivers, and the ClientTokens of
--     deleted schedules, after a day. It removes retired signing keys after 30 days.
--   `topics` removes expired rows of topics (maintain_topics).
--   `applications` removes the endpoints of deleted platform applications (clean_platform_applications).
--   `deleted_queues` removes the messages of deleted queues (clean_deleted_queues).
--   `histories` creates the partitions of the next days, and drops the partitions of days more than p_history_days ago.
--   `outcomes` merges rows of queue.outcome_count (compact_outcome_counts).
--   `events` maintains the partitions and pages of event buses (maintain_events).
--   `deletions` completes the deletions that no user can undo any more (finish_deletions).
-- This file also contains clean_expired_rows, maintain_topics, clean_platform_applications, clean_deleted_queues,
-- clean_deleted_queue, cleaned_tables, add_history_day, drop_history_days and compact_outcome_counts.
create or replace function queue.maintain_installation(p_limit int, p_history_days int, p_part text default null)
returns bigint
language plpgsql as $$
declare
    v_removed bigint := 0;
begin
    if coalesce(p_part, 'expired_rows') = 'expired_rows' then
        v_removed := queue.clean_expired_rows(p_limit);
    end if;
    if coalesce(p_part, 'topics') = 'topics' then
        v_removed := v_removed + queue.maintain_topics(p_limit);
    end if;
    if coalesce(p_part, 'applications') = 'applications' then
        v_removed := v_removed + queue.clean_platform_applications(p_limit);
    end if;
    if coalesce(p_part, 'deleted_queues') = 'deleted_queues' then
        v_removed := v_removed + queue.clean_deleted_queues(p_limit);
    end if;
    if coalesce(p_part, 'histories') = 'histories' then
        -- A new partition locks the default partition, so the drop, which can wait for a vacuum, comes first.
        perform queue.drop_history_days(p_history_days);
        for v_day in 0 .. 2 loop
            perform queue.add_history_day(h.name, (now() at time zone 'utc')::date + v_day)
            from unnest(queue.history_names()) h(name);
        end loop;
    end if;
    if coalesce(p_part, 'events') = 'events' then
        v_removed := v_removed + queue.maintain_events(p_limit);
    end if;
    if coalesce(p_part, 'deletions') = 'deletions' then
        v_removed := v_removed + queue.finish_deletions(p_limit);
    end if;
    if coalesce(p_part, 'outcomes') = 'outcomes' then
        perform queue.compact_outcome_counts(p_limit);
    end if;
    return v_removed;
end $$;

-- queue.clean_expired_rows: runs the part expired_rows of maintain_installation. Returns the number of removed rows
-- without the rows of watcher, prepare_guard, recent_firing, receiver and endpoint_password. One call removes nearly
-- all expired rows of these tables. The worker does not call again for the others, because processes keep adding rows.
-- If the server's clock was set back, deduplication ids would last longer than five minutes. The function therefore
-- limits their expiry to five minutes from now.
create or replace function queue.clean_expired_rows(p_limit int) returns bigint
language plpgsql as $$
declare
    v_removed bigint := 0;
    v_rows bigint;
    v_now timestamptz := clock_timestamp();
begin
    update queue.deduplication d set expires_at = v_now + interval '5 minutes' where d.ctid = any (array(
        select e.ctid from queue.deduplication e where e.expires_at > v_now + interval '310 seconds'
        order by e.expires_at desc limit p_limit for update skip locked));
    delete from queue.deduplication d where d.ctid = any (array(
        select e.ctid from queue.deduplication e where e.expires_at <= v_now
        order by e.expires_at limit p_limit for update skip locked));
    get diagnostics v_removed = row_count;
    delete from queue.watcher w where w.ctid = any (array(
        select e.ctid from queue.watcher e where e.registered_at < v_now - interval '10 seconds'
        limit p_limit for update skip locked));
    delete from queue.prepare_guard g where g.guarded_at < v_now;
    delete from queue.recent_firing f where f.fired_at < v_now - interval '10 seconds';
    delete from queue.receive_attempt a where a.ctid = any (array(
        select e.ctid from queue.receive_attempt e where e.received_at < v_now - interval '5 minutes'
        order by e.received_at limit p_limit for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    delete from queue.receiver r where r.last_at < v_now - interval '1 day';
    delete from queue.schedule_deletion s where s.ctid = any (array(
        select e.ctid from queue.schedule_deletion e where e.deleted_at < v_now - interval '1 day'
        order by e.deleted_at limit p_limit for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    delete from queue.edited_message m where m.ctid = any (array(
        select e.ctid from queue.edited_message e where e.edited_at < v_now - interval '14 days'
        order by e.edited_at limit p_limit for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    -- Penstock still needs the password to send the message about the end of a subscription to its URL.
    delete from queue.endpoint_password p
    where not exists (
            select from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
            where t.arn = p.topic_arn and s.endpoint = p.endpoint)
        and not exists (
            select from queue.former_subscription f join queue.topic t on t.topic_id = f.topic_id
            where t.arn = p.topic_arn and f.endpoint = p.endpoint)
        and not exists (
            select from queue.binding b
            where p.topic_arn = '' and b.endpoint = p.endpoint and b.account_id = p.account_id)
        and not exists (
            select from queue.outgoing_delivery d
            where d.account_id = p.account_id and d.endpoint = p.endpoint and d.state = 'pending');
    delete from queue.signing_key k where k.retired_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    return v_removed;
end $$;

-- queue.maintain_topics: removes expired rows of topics: deduplication ids, unconfirmed subscriptions, deleted
-- subscriptions that no user can restore any more, and notices without deliveries. Returns the number of removed rows.
-- An unconfirmed subscription expires after two days ("Deleting an Amazon SNS topic and subscription", SNS Developer
-- Guide). Limits the expiry of deduplication ids to five minutes from now, as clean_expired_rows does. Each call
-- removes at most p_limit rows of each table, and checks p_limit notices from a random notice on. Skips locked rows.
-- Uses the indexes topic_deduplication_expires_at, subscription_pending, former_subscription_expires_at, notice_pkey
-- and outgoing_delivery_notice.
create or replace function queue.maintain_topics(p_limit int) returns bigint
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_removed bigint := 0;
    v_rows bigint;
    v_from bigint;
begin
    update queue.topic_deduplication d set expires_at = v_now + interval '5 minutes' where d.ctid = any (array(
        select e.ctid from queue.topic_deduplication e where e.expires_at > v_now + interval '310 seconds'
        order by e.expires_at desc limit p_limit for update skip locked));
    delete from queue.topic_deduplication d where d.ctid = any (array(
        select e.ctid from queue.topic_deduplication e where e.expires_at <= v_now
        order by e.expires_at limit p_limit for update skip locked));
    get diagnostics v_removed = row_count;
    delete from queue.subscription s where s.subscription_id = any (array(
        select e.subscription_id from queue.subscription e where not e.confirmed and e.token_expires_at <= v_now
        order by e.token_expires_at limit p_limit for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    delete from queue.former_subscription f where f.ctid = any (array(
        select e.ctid from queue.former_subscription e where e.expires_at <= v_now
        order by e.expires_at limit p_limit for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    v_from := (
        select min(n.notice_id) + (random() * (max(n.notice_id) - min(n.notice_id)))::bigint from queue.notice n);
    delete from queue.notice n where n.notice_id = any (array(
        select e.notice_id from (
            select k.notice_id from queue.notice k where k.notice_id >= v_from order by k.notice_id limit p_limit) e
        where not exists (select from queue.outgoing_delivery x where x.notice_id = e.notice_id)));
    get diagnostics v_rows = row_count;
    return v_removed + v_rows;
end $$;

-- queue.clean_platform_applications: removes up to p_limit endpoints of deleted platform applications, and the deleted
-- applications that have no more endpoints. Returns the number of removed rows. An endpoint counts towards the quota of
-- its account until this function removes it. Skips locked applications and endpoints. Takes the locks of
-- count_platform_endpoints.
create or replace function queue.clean_platform_applications(p_limit int) returns bigint
language plpgsql as $$
declare
    v_dropped record;
    v_removed bigint := 0;
    v_rows bigint;
    v_accounts text[];
    v_changes bigint[];
begin
    for v_dropped in    -- In a random order, an account with many endpoints does not delay other accounts.
        select d.application_id, d.account_id from queue.dropped_platform_application d
        order by random() for update skip locked
    loop
        exit when v_removed >= p_limit;
        delete from queue.platform_endpoint e where e.endpoint_id = any (array(
            select k.endpoint_id from queue.platform_endpoint k where k.application_id = v_dropped.application_id
            order by k.endpoint_id limit p_limit - v_removed for update skip locked));
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
        v_accounts := v_accounts || v_dropped.account_id;
        v_changes := v_changes || -v_rows;
        delete from queue.dropped_platform_application d
        where d.application_id = v_dropped.application_id
            and not exists (select from queue.platform_endpoint e where e.application_id = d.application_id);
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
    end loop;
    perform queue.count_platform_endpoints(v_accounts, v_changes);
    return v_removed;
end $$;

-- queue.clean_deleted_queues: removes up to p_limit rows of each table from deleted queues. Returns the number of
-- removed rows. Keeps the row of a queue that has metrics, because the metrics need the queue's name.
create or replace function queue.clean_deleted_queues(p_limit int) returns bigint
language plpgsql as $$
declare
    v_removed bigint := 0;
    v_rows bigint;
    v_now timestamptz := clock_timestamp();
    v_dropped record;
begin
    for v_dropped in
        select d.queue_id, d.dropped_at from queue.dropped_queue d where d.cleaned_at is null order by random()
    loop
        exit when v_removed >= p_limit;      -- In a random order, a queue with many rows does not delay other queues.
        v_rows := queue.clean_deleted_queue(v_dropped.queue_id, p_limit);
        v_removed := v_removed + v_rows;
        if v_rows = 0 and v_dropped.dropped_at < v_now - interval '10 minutes' then
            update queue.dropped_queue d set cleaned_at = v_now
            where d.queue_id = v_dropped.queue_id and exists (
                select from queue.metrics_window w
                where w.window_seconds in (60, 3600, 86400) and w.queue_id = v_dropped.queue_id);
            if not found then
                delete from queue.dropped_queue d where d.queue_id = v_dropped.queue_id;
            end if;
        end if;
    end loop;
    return v_removed;
end $$;

-- queue.clean_deleted_queue: removes up to p_limit rows of each table from a deleted queue. Returns the number of
-- removed rows. Skips locked rows, because a sender can lock a FIFO group for a long time. A later call removes them.
create or replace function queue.clean_deleted_queue(p_queue_id int, p_limit int) returns bigint
language plpgsql as $$
declare
    v_table text;
    v_rows bigint;
    v_removed bigint := 0;
begin
    delete from queue.fifo_message m where m.ctid = any (array(
        select f.ctid from queue.fifo_group g join queue.fifo_message f on f.group_key = g.group_key and f.group_key > 0
        where g.queue_id = p_queue_id limit p_limit for update of f skip locked));
    get diagnostics v_removed = row_count;
    if v_removed = p_limit then
        return v_removed;       -- Keeps the groups, because the next call finds the other messages by their groups.
    end if;
    foreach v_table in array queue.cleaned_tables() loop
        execute format('delete from queue.%I where ctid = any (array('
                'select ctid from queue.%I where queue_id = $1 limit $2 for update skip locked))',
            v_table, v_table) using p_queue_id, p_limit;
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
    end loop;
    return v_removed;
end $$;

-- queue.cleaned_tables: returns the tables from which clean_deleted_queue removes the rows of a deleted queue by their
-- queue_id. The test test_catalogue.py lists every other table that has a queue_id, and says why its rows can stay.
create or replace function queue.cleaned_tables() returns text[]
language sql immutable parallel safe
return array['log', 'lease', 'side', 'fifo_group', 'fifo_ready', 'fifo_search', 'deduplication', 'archive', 'hole',
    'id_jump', 'late_id_jump', 'watcher', 'move_task', 'deferred', 'noisy_neighbors', 'sweep', 'in_flight',
    'receive_attempt', 'failure'];

-- queue.add_history_day: creates the partition for a day (UTC) of a history (history_names). Does nothing if the
-- partition exists, if the default partition contains rows of that day, if another worker creates the partition, or if
-- the function does not get the lock of the default partition within 200 ms. The next run tries again. Locks the
-- default partition. Runs with the rights of its owner, which owns the table.
create or replace function queue.add_history_day(p_name text, p_day date) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
    v_table text := case when p_name = any (queue.history_names()) then p_name end;
    v_part text := v_table || to_char(p_day, '_YYYYMMDD');
    v_from timestamptz := p_day::timestamp at time zone 'utc';
    v_to timestamptz := (p_day + 1)::timestamp at time zone 'utc';
    v_taken boolean;
begin
    if v_table is not null and to_regclass('queue.' || v_part) is null then
        execute format('select exists (select from queue.%I h where h.recorded_at >= $1 and h.recorded_at < $2)',
            v_table || '_default') into v_taken using v_from, v_to;
        if not v_taken then
            execute format('create table if not exists queue.%I partition of queue.%I for values from (%L) to (%L)',
                v_part, v_table, v_from, v_to);
        end if;
    end if;
exception when check_violation or unique_violation or duplicate_table or lock_not_available then
    null;
end $$;

-- queue.drop_history_days: drops the partitions of the histories for days (UTC) more than p_days ago. Stores in
-- queue.history_drop the time since which the history is complete. The metrics job does not replace windows that start
-- before this time. A drop needs a lock on the whole history, and every statement on the history waits behind it. The
-- function therefore first locks out a vacuum of the partitions (lock_out_vacuum), and gives up if it does not get the
-- lock of the history within 200 ms. The next run tries again. Runs with the rights of its owner, which owns the table.
create or replace function queue.drop_history_days(p_days int) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
    v_cut date := (now() at time zone 'utc')::date - p_days;
    v_parts text[];
    v_names text[];
    v_part text;
begin
    select coalesce(array_agg(c.relname::text order by c.relname), '{}'), array_agg(distinct h.name)
    into v_parts, v_names
    from unnest(queue.history_names()) h(name)
    join pg_inherits i on i.inhparent = to_regclass('queue.' || h.name) join pg_class c on c.oid = i.inhrelid
    where c.relname ~ '_[0-9]{8}$' and right(c.relname, 8) < to_char(v_cut, 'YYYYMMDD');
    if not queue.lock_out_vacuum(v_parts) then
        return;
    end if;
    insert into queue.history_drop as d (name, dropped_before)
    select h.name, v_cut::timestamp at time zone 'utc' from unnest(v_names) h(name)
    on conflict (name) do update set dropped_before = greatest(d.dropped_before, excluded.dropped_before);
    foreach v_part in array v_parts loop
        execute format('drop table queue.%I', v_part);
    end loop;
exception when lock_not_available then
    null;
end $$;

-- queue.compact_outcome_counts: merges the rows of queue.outcome_count into one row for each queue if the table has
-- more than 1,000 rows. The container also merges these rows when it measures the queues, but an installation that has
-- only Lambda functions does not. Each call merges at most `p_limit` rows. Skips locked rows.
create or replace function queue.compact_outcome_counts(p_limit int) returns void
language plpgsql as $$
begin
    if (select count(*) <= 1000 from (select from queue.outcome_count limit 1001) d) then
        return;
    end if;
    with taken as (
        delete from queue.outcome_count d where d.ctid = any (array(
            select e.ctid from queue.outcome_count e limit p_limit for update skip locked))
        returning d.queue_id, d.dead_lettered, d.expired)
    insert into queue.outcome_count (queue_id, dead_lettered, expired)
    select t.queue_id, sum(t.dead_lettered), sum(t.expired) from taken t
    where exists (select from queue.queues q where q.queue_id = t.queue_id) group by t.queue_id;
end $$;
