-- queue.maintain_topics(limit): removes expired rows of topics: deduplication ids, subscriptions that were not
-- confirmed within two days (source: "Deleting an Amazon SNS topic and subscription", SNS Developer Guide), deleted
-- subscriptions that were not restored in time, and notices without webhooks. Each call checks p_limit notices,
-- beginning at a random one. At most p_limit rows of each a call; skips locked rows. Returns rows removed.
-- Index: topic_deduplication_expires_at, subscription_pending, former_subscription_expires_at, notice_pkey,
-- webhook_notice.
create or replace function queue.maintain_topics(p_limit int) returns bigint
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_removed bigint := 0;
    v_rows bigint;
    v_from bigint;
begin
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
    v_from := (select min(n.notice_id) + (random() * (max(n.notice_id) - min(n.notice_id)))::bigint from queue.notice n);
    delete from queue.notice n where n.notice_id = any (array(
        select e.notice_id from (
            select k.notice_id from queue.notice k where k.notice_id >= v_from order by k.notice_id limit p_limit) e
        where not exists (select from queue.webhook w where w.notice_id = e.notice_id)));
    get diagnostics v_rows = row_count;
    return v_removed + v_rows;
end $$;
