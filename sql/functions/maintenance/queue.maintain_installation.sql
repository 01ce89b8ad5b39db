-- queue.maintain_installation(limit, history days): removes the rows that no maintenance of a single queue removes:
-- messages of deleted queues, endpoints of deleted platform applications, expired deduplication ids and
-- ReceiveRequestAttemptIds, registrations of watchers that ended, counts of past firings, expired rows of topics,
-- receivers and ClientTokens of schedules' deletions after a day, signing keys retired for over 30 days. Makes the partitions of the histories for the days ahead, and drops those beyond p_history_days.
-- At most p_limit rows of each table a call; for deleted queues the tables of one more queue. Of one with metrics the name stays. Returns rows removed.
create or replace function queue.maintain_installation(p_limit int, p_history_days int) returns bigint
language plpgsql as $$
declare
    v_removed bigint := 0;
    v_rows bigint;
    v_now timestamptz := clock_timestamp();
    v_dropped record;
begin
    delete from queue.deduplication d where d.ctid = any (array(
        select e.ctid from queue.deduplication e where e.expires_at <= v_now
        order by e.expires_at limit p_limit for update skip locked));
    get diagnostics v_removed = row_count;
    delete from queue.watcher w where w.ctid = any (array(
        select e.ctid from queue.watcher e where e.registered_at < v_now - interval '10 seconds'
        limit p_limit for update skip locked));
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
    delete from queue.signing_key k where k.retired_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    v_removed := v_removed + queue.maintain_topics(p_limit);
    v_removed := v_removed + queue.clean_platform_applications(p_limit);
    for v_dropped in
        select d.queue_id, d.dropped_at from queue.dropped_queue d where d.cleaned_at is null order by random()
    loop
        exit when v_removed >= p_limit;      -- in random order: queues without rows do not hold up the others
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
    for v_day in 0 .. 2 loop
        perform queue.add_history_day(h.name, (now() at time zone 'utc')::date + v_day)
        from unnest(array['history', 'webhook_history', 'webhook_attempt']) h(name);
    end loop;
    perform queue.drop_history_days(p_history_days);
    perform queue.compact_dead_letter_counts(p_limit);
    return v_removed;
end $$;
