-- queue.store_alerts: stores the result of an evaluation and its messages in one transaction, so each change is told
-- exactly once.
--   `p_round` is the evaluation. If another process has begun a later one, the function changes nothing.
--   `p_changed` contains rows of queue.alert that are new or different.
--   `p_gone` contains the keys of rows to delete.
--   The other parameters are those of send_alerts.
-- `stored` is false if the function changed nothing. Locks the row of queue.alert_round.
-- This file also contains send_alerts.
create or replace function queue.store_alerts(
    p_round bigint, p_default_url text, p_changed jsonb, p_gone jsonb, p_messages jsonb)
returns table (stored boolean, deliveries int)
language plpgsql as $$
#variable_conflict use_column
begin
    perform queue.require_read_committed();
    perform from queue.alert_round r
    where r.round = p_round and (r.ended_at is null or r.ended_at < r.started_at) for update;
    stored := found;
    deliveries := 0;
    if not stored then
        return next;
        return;
    end if;
    delete from queue.alert a
    using jsonb_to_recordset(p_gone) g(account_id text, region text, subject text, name text)
    where (a.account_id, a.region, a.subject, a.name) = (g.account_id, g.region, g.subject, g.name);
    insert into queue.alert as a (account_id, region, subject, name, kind, state, evaluations, since, reported_rank,
        reported_number, reported_at)
    select c.account_id, c.region, c.subject, c.name, c.kind, c.state, c.evaluations, c.since, c.reported_rank,
        c.reported_number, c.reported_at
    from jsonb_to_recordset(p_changed) c(account_id text, region text, subject text, name text, kind text, state text,
        evaluations int, since timestamptz, reported_rank int, reported_number bigint, reported_at timestamptz)
    on conflict (account_id, region, subject, name) do update
    set kind = excluded.kind, state = excluded.state, evaluations = excluded.evaluations, since = excluded.since,
        reported_rank = excluded.reported_rank, reported_number = excluded.reported_number,
        reported_at = excluded.reported_at;
    select count(*) into deliveries from queue.send_alerts(p_default_url, p_messages);
    update queue.alert_round r set ended_at = clock_timestamp();
    return next;
end $$;

-- queue.send_alerts: creates the deliveries of alerts. Ignores the quota of deliveries, because an account's backlog is
-- a reason for an alert.
--   `p_default_url` is QUEUE_ALERT_URL, or null. The function stores the URL, so that any process can send.
--   `p_messages` contains objects: `account_id` is the account that can list the delivery. `target` is the row of
--     queue.alert_target, and absent for a mail. `endpoint` is a name without secrets: `alert://HOST`, or
--     `smtp://mail/alert`. `kind`, `message_id` and `body` are the columns of queue.notice.
create or replace function queue.send_alerts(p_default_url text, p_messages jsonb)
returns table (delivery_id bigint, message_id uuid, endpoint text)
language plpgsql as $$
#variable_conflict use_column
begin
    if p_messages = '[]' then
        return;
    end if;
    insert into queue.alert_target as t (account_id, url) select '', p_default_url where p_default_url is not null
    on conflict (account_id) do update set url = excluded.url where t.url <> excluded.url;
    perform queue.wake_deliveries();
    return query
    with message as materialized (
        select m.* from jsonb_to_recordset(p_messages) m(account_id text, target text, endpoint text, kind text,
            message_id uuid, body text)),
    notice as (
        insert into queue.notice (kind, routing_key, message_id, raw)
        select m.kind, m.target, m.message_id, m.body from message m
        returning notice_id, message_id)
    insert into queue.outgoing_delivery as d (notice_id, account_id, endpoint, raw)
    select n.notice_id, m.account_id, m.endpoint, true
    from notice n join message m on m.message_id = n.message_id
    returning d.delivery_id, (select m.message_id from message m join notice n on n.message_id = m.message_id
        where n.notice_id = d.notice_id), d.endpoint;
end $$;
