"""Finds transactions, prepared transactions and replication slots that prevent vacuum. Also finds services that do not
listen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .examination import Examination, Finding

SUBJECT = "old snapshots"
LISTENING = "notifications"
MAX_SECONDS: Final = 3600
"""The age from which a transaction is a problem. The alert PenstockOldTransaction has the limit, too."""
PREPARED_SECONDS: Final = 300
"""The age from which a prepared transaction is a problem. A coordinator normally ends a prepared transaction within
seconds.
"""
_MAX_WAL_BYTES: Final = 10 * 1024**3

_OLD_TRANSACTIONS: Final = """
select 'the session ' || a.pid || ' of ' || coalesce(a.usename, '?')
    || coalesce(' (' || nullif(a.application_name, '') || ')', '')
    || ' has had a transaction open for ' || date_trunc('second', clock_timestamp() - a.xact_start)
    || ', ' || coalesce(a.state, '?'), format('select pg_terminate_backend(%%s)', a.pid)
from pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid()
    and a.xact_start < clock_timestamp() - %(seconds)s * interval '1 second'
order by a.xact_start limit 20
"""
_OLD_PREPARED: Final = """
select 'the prepared transaction ' || p.gid || ' of ' || p.owner || ' has been open since '
    || date_trunc('second', p.prepared), format('rollback prepared %%L', p.gid)
from pg_prepared_xacts p
where p.database = current_database() and p.prepared < clock_timestamp() - %(prepared_seconds)s * interval '1 second'
order by p.prepared limit 20
"""
_BLIND: Final = """
select r.name from unnest(%s::text[]) r (name) where not pg_has_role(r.name, 'pg_read_all_stats', 'usage')
"""
# A standby does not write WAL, so the query cannot measure the WAL of a slot.
_IDLE_SLOTS: Final = """
select 'no client reads the replication slot ' || s.slot_name || ', which keeps ' || pg_size_pretty(k.bytes)
    || ' of WAL' || case when coalesce(s.xmin, s.catalog_xmin) is null then '' else ' and dead rows' end,
    format('select pg_drop_replication_slot(%%L)', s.slot_name)
from pg_replication_slots s
cross join lateral (
    select case when pg_is_in_recovery() then 0
        else pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn) end as bytes) k
where not s.active and (coalesce(s.xmin, s.catalog_xmin) is not null or k.bytes > %(bytes)s) limit 20
"""
# Connections for LISTEN have names that begin with "penstock " (database/listener.py). The query ignores young
# sessions, because they can belong to this check or to a starting process.
_SILENT: Final = """
select string_agg(distinct a.usename, ', '), count(*) from pg_stat_activity a
where a.datname = current_database() and a.usename = any (%(roles)s) and a.pid <> pg_backend_pid()
    and a.backend_start < clock_timestamp() - %(seconds)s * interval '1 second'
having count(*) > 0 and not exists (
    select from pg_stat_activity l where l.datname = current_database() and l.application_name like 'penstock %%')
"""
_YOUNG_SECONDS: Final = 15


def check_listeners(examined: Examination) -> Iterator[Finding]:
    """Yields advice if the service's role has sessions but no process listens. Raises psycopg's errors."""
    yield from find_silence(examined, _YOUNG_SECONDS)


def find_silence(examined: Examination, seconds: float) -> Iterator[Finding]:
    """Yields advice if sessions older than `seconds` exist but no process listens."""
    roles = [connection.session.role for connection in examined.connect_to_service()]
    parameters = {"roles": roles, "seconds": seconds}
    for names, number in examined.connect_directly().execute(_SILENT, parameters).fetchall():
        yield Finding(
            LISTENING,
            f"no process listens for notifications, although {names} has {number} open sessions",
            "waiting receives respond up to a second late, and workers find new work only when they poll",
            "look for `too few database connections` or `database unavailable` in the container's log; "
            "Lambda functions never listen",
            is_advice=True,
        )


def check_old_snapshots(examined: Examination) -> Iterator[Finding]:
    """Finds old snapshots. Only members of pg_monitor see other roles' sessions. Raises psycopg's errors."""
    yield from find_hidden_sessions(examined)
    yield from find_old_snapshots(examined, MAX_SECONDS, PREPARED_SECONDS)


def find_hidden_sessions(examined: Examination) -> Iterator[Finding]:
    """Yields advice for each role of the service that does not see the sessions of other roles."""
    roles = sorted({connection.session.role for connection in examined.connect_to_service()})
    for (role,) in examined.connect_directly().execute(_BLIND, (roles,)).fetchall():
        yield Finding(
            SUBJECT,
            f"the role {role} does not see the sessions of other roles; this check and the metrics "
            "penstock_db_oldest_transaction_age_seconds and penstock_db_oldest_xmin_age_transactions omit those "
            "sessions",
            "the alerts PenstockOldTransaction and PenstockOldSnapshot cannot fire for these sessions",
            f"run `grant pg_monitor to {role}` as an administrator",
            is_advice=True,
        )


def find_old_snapshots(examined: Examination, seconds: float, prepared_seconds: float) -> Iterator[Finding]:
    """Yields old snapshots. `seconds` is a transaction's minimum age, and `prepared_seconds` is a prepared
    transaction's minimum age.
    """
    limits = {"seconds": seconds, "prepared_seconds": prepared_seconds, "bytes": _MAX_WAL_BYTES}
    for query in (_OLD_TRANSACTIONS, _OLD_PREPARED, _IDLE_SLOTS):
        for problem, command in examined.connect_directly().execute(query, limits).fetchall():
            yield Finding(
                SUBJECT,
                problem,
                "vacuum cannot remove newer dead rows, so tables grow; the WAL that a slot retains fills the disk",
                f"run `{command}` if the transaction or slot is not needed any more",
            )
