-- queue.expire_deliveries: gives up deliveries that have waited too long for a paused endpoint.
--   A delivery to a URL waits at most one hour after it was due.
--   A delivery to a gateway, a mail server or a Lambda function waits at most six hours, SNS's longest time for
--   retries.
--   An invocation by a schedule waits until the maximum age in the schedule's RetryPolicy.
-- Deliveries to an endpoint that a user paused wait without a limit. `p_limit` is the maximum number of deliveries for
-- each endpoint. `failed_redrives` is the number of exhausted deliveries whose dead-letter queue refused the message.
-- Locks deliveries and skips locked deliveries, then locks notices. Uses the index outgoing_delivery_waits_for.
create or replace function queue.expire_deliveries(p_limit int)
returns table (exhausted int, dead_lettered int, failed_redrives int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_endpoint text;
    v_ids bigint[];
    v_notices bigint[];
    v_moved int;
begin
    exhausted := 0;
    dead_lettered := 0;
    failed_redrives := 0;
    for v_endpoint in
        select l.endpoint_key from queue.delivery_endpoint l
        where l.paused_until is not null and not l.stopped order by l.endpoint_key
    loop
        v_ids := array(
            select d.delivery_id from queue.outgoing_delivery d
            where d.waits_for = v_endpoint and d.state = 'pending' and d.waiting
                -- The due_at of a schedule's invocation can be later than its maximum age.
                and case when d.endpoint like 'arn:%' and d.outgoing_id is null
                    then extract(epoch from clock_timestamp()) >= (d.retry_policy ->> 'Until')::float8
                    else d.due_at <= (select clock_timestamp())
                        - case when d.outgoing_id is null then 1 else 6 end * interval '1 hour' end
            order by d.due_at, d.delivery_id limit p_limit for update skip locked);
        continue when v_ids = '{}';
        v_notices := array(
            select n.notice_id from queue.notice n
            where n.notice_id = any (array(
                select d.notice_id from queue.outgoing_delivery d where d.delivery_id = any (v_ids)))
            order by n.notice_id for update);
        update queue.outgoing_delivery d
        set last_error = concat_ws('; ', d.last_error, case when d.endpoint like 'arn:%' then 'its function was paused'
            when d.outgoing_id is null then 'the endpoint was paused for an hour'
            else 'its carrier was paused for six hours' end)
        where d.delivery_id = any (v_ids);
        v_moved := queue.give_up_deliveries(v_ids);
        delete from queue.notice n
        where n.notice_id = any (v_notices)
            and not exists (select from queue.outgoing_delivery d where d.notice_id = n.notice_id);
        dead_lettered := dead_lettered + v_moved;
        exhausted := exhausted + cardinality(v_ids) - v_moved;
        failed_redrives := failed_redrives + (
            select count(*) from queue.outgoing_delivery d
            where d.delivery_id = any (v_ids) and d.dead_letter_arn is not null);
    end loop;
    return next;
end $$;
