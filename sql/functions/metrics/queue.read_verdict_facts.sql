-- queue.read_verdict_facts: returns the facts, besides minutes, that a verdict on a queue needs. Returns a row for each
-- existing queue of the list, at most 200 rows.
--   `n` is the ARN's position in p_arns, from 1.
--   `read_at` is now, by the clock of the minutes.
--   `dead_letters` says whether other queues use this queue as their dead-letter queue.
--   `noisy_groups` is the number of noisy groups of a fair queue.
--   `top_group_share` is the share in the newest hour of the metrics job, and null if that hour is older than two
--     hours.
--   `paused` is true if receives return no messages.
--   `paused_endpoints` is the number of failing URLs whose exhausted deliveries go to this queue.
--   `retention_at` is when the retention of the oldest message will be over, by a forecast since yesterday.
--   `never_catches_up` is true if, by the same forecast, fewer messages drain than arrive even in the queue's best
--     hour.
--   `stopped_mapping` says why the service stopped one of the queue's event source mappings, or that no process polls
--     for a mapping. The value is null if all mappings run.
--   `failing_since` is the time since which the mapping that has failed longest fails. The value is null if no enabled
--     mapping fails.
--   `failing_result` is the result of the mapping that has failed longest.
--   `measured_at` and the gauges after it are the last measurement of the queue. These columns are null if the queue
--     was never measured.
--   `expires_at` is when the retention of the first message will be over, by the last measurement, and null for an
--     empty queue. The retention counts from the sending, also of dead letters.
-- Reads one waiting delivery of each paused endpoint. Uses the indexes queues_arn_key, queues_dead_letter_arn,
-- measurement_pkey, metrics_forecast_pkey, metrics_window_pkey, delivery_endpoint_paused, outgoing_delivery_waits_for
-- and event_source_mapping_queue_arn_function_arn_key.
create or replace function queue.read_verdict_facts(p_arns text[])
returns table (n int, arn text, read_at timestamptz, fifo boolean, dead_letters boolean, noisy_groups int,
    top_group_share double precision, paused_endpoints int, retention_at timestamptz, never_catches_up boolean,
    measured_at timestamptz, visible bigint, in_flight bigint, delayed bigint, oldest_at timestamptz, paused boolean,
    stopped_mapping text, failing_since timestamptz, failing_result text, retention_seconds int,
    expires_at timestamptz, visibility_timeout_seconds int)
language sql stable as $$
with paused as materialized (
    select w.dead_letter_arn, count(*)::int as endpoints
    -- The function reads at most 1,000 paused endpoints.
    from (select l.endpoint_key from queue.delivery_endpoint l where l.paused_until is not null limit 1000) l
    cross join lateral (
        select x.dead_letter_arn from queue.outgoing_delivery x
        where x.waits_for = l.endpoint_key and x.state = 'pending' and x.waiting
        order by x.due_at, x.delivery_id limit 1) w
    where w.dead_letter_arn is not null group by 1)
select u.n::int, q.arn, clock_timestamp(), q.fifo,
    exists (select from queue.queues s where s.dead_letter_arn = q.arn), coalesce(m.noisy_groups, 0),
    (select x.top_group_share from queue.metrics_window x
     where x.window_seconds = 3600 and x.queue_id = q.queue_id and x.group_id = ''
         and x.starts_at > (select clock_timestamp()) - interval '2 hours'
     order by x.starts_at desc limit 1),
    coalesce(p.endpoints, 0),
    f.computed_at + (f.warnings ->> 'retention_seconds')::double precision * interval '1 second',
    coalesce(f.warnings ? 'fastest_rate', false), m.measured_at, m.visible, m.in_flight, m.delayed, m.oldest_at,
    q.paused,
    (select case when not e.enabled then e.reason
        else format('No process polls for the mapping to %s: QUEUE_LAMBDA_ENDPOINT or QUEUE_LAMBDA_FUNCTIONS prevents '
            'it.', e.function_arn) end
     from queue.event_source_mapping e
     where e.queue_arn = q.arn and case when e.enabled then e.updated_at < clock_timestamp() - interval '1 minute'
         and not exists (
             select from queue.poller p
             where p.poller_id = e.poller_id and p.alive_until > clock_timestamp() - interval '1 minute')
         else e.reason <> 'USER_INITIATED' end
     order by e.enabled, e.mapping_id limit 1),
    e.failing_since, e.last_result, q.retention_seconds, m.first_sent_at + q.retention_seconds * interval '1 second',
    q.visibility_timeout_seconds
from unnest(p_arns[1:200]) with ordinality u(arn, n)
join queue.queues q on q.arn = u.arn
left join queue.measurement m on m.queue_id = q.queue_id
left join queue.metrics_forecast f
    on f.queue_id = q.queue_id and f.computed_at > clock_timestamp() - interval '1 day'
left join lateral (
    select e.failing_since, e.last_result from queue.event_source_mapping e
    where e.queue_arn = q.arn and e.enabled and e.failing_since is not null order by e.failing_since limit 1) e on true
left join paused p on p.dead_letter_arn = q.arn
order by u.n
$$;
