"""Checks PostgreSQL's settings in a session of the service (docs/operate/postgres_settings.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from .examination import Examination, Finding
from .pooler import available_connections

SUBJECT = "PostgreSQL"
SESSIONS = "sessions"
_DIRECT_CONNECTIONS: Final = 5
"""Counts the connections of a process besides QUEUE_MAX_CONNECTIONS."""
_SHORTEST_TIMEOUT_MS: Final = 5_000
_FULL: Final = 0.9

# Times are in milliseconds, and sizes are in MB. Omits settings that PostgreSQL's version lacks.
_VALUES: Final = """
select s.name, case s.unit
    when 's' then (s.setting::bigint * 1000)::text when 'min' then (s.setting::bigint * 60000)::text
    else s.setting end
from pg_settings s where s.name = any (%s)
"""


class Rule(NamedTuple):
    """A value that causes a finding."""

    name: str
    is_wrong: Callable[[str], bool]
    wanted: str
    why: str
    is_advice: bool = False
    of_role: bool = False
    """Says whether a role can have the setting. If so, the check reads the role's value first."""
    unit: str = ""
    """Holds the unit of the value, if the value has a unit."""


def _is_off(value: str) -> bool:
    return value == "off"


def _is_short(value: str) -> bool:
    return 0 < int(value) < _SHORTEST_TIMEOUT_MS


_ENDS_CALLS: Final = (
    "the server ends calls of the workers, which may take seconds, and the workers repeat these calls forever"
)
RULES: Final = (
    Rule("fsync", _is_off, "on", "a crash of the machine loses acknowledged messages, or the whole database"),
    Rule("full_page_writes", _is_off, "on", "a crash of the machine may damage pages that it was writing"),
    Rule(
        "synchronous_commit", _is_off, "on", "a crash loses messages that were acknowledged just before", of_role=True
    ),
    Rule("autovacuum", _is_off, "on", "queues constantly create dead rows: receives become slower from hour to hour"),
    Rule("track_counts", _is_off, "on", "autovacuum does not work without it"),
    Rule(
        "default_transaction_isolation",
        lambda value: value != "read committed",
        "read committed",
        "calls that meet in a queue fail with serialization errors",
        of_role=True,
    ),
    Rule("statement_timeout", _is_short, "0", _ENDS_CALLS, of_role=True),
    Rule("transaction_timeout", _is_short, "0", _ENDS_CALLS, of_role=True),
    Rule(
        "idle_session_timeout",
        lambda value: value != "0",
        "0",
        "the connection for LISTEN is always idle: the server closes it, and the service opens it repeatedly",
        is_advice=True,
        of_role=True,
    ),
    Rule(
        "idle_in_transaction_session_timeout",
        lambda value: value == "0",
        "10min",
        "a forgotten transaction keeps vacuum from cleaning",
        is_advice=True,
    ),
    Rule(
        "autovacuum_naptime",
        lambda value: int(value) > 60_000,
        "10s",
        "queues constantly create dead rows",
        is_advice=True,
    ),
    Rule(
        "max_wal_size",
        lambda value: int(value) < 2_000,
        "2GB",
        "frequent checkpoints write whole pages into the WAL",
        unit="MB",
        is_advice=True,
    ),
)


def check_server_settings(examined: Examination) -> Iterator[Finding]:
    """Checks the server's settings. Raises psycopg's errors."""
    connection = examined.direct()
    values: dict[str, str] = dict(connection.execute(_VALUES, ([rule.name for rule in RULES],)).fetchall())
    yield from judge_settings(values, connection.session.role)
    row = connection.execute("select count(*) from pg_stat_activity where backend_type = 'client backend'").fetchone()
    yield from judge_connections(
        available_connections(connection), row[0] if row else 0, examined.settings.queue_max_connections
    )


def check_session_settings(examined: Examination) -> Iterator[Finding]:
    """Yields missing session settings, and a finding if the server can log message texts. Raises psycopg's errors."""
    warnings = {w for connection in examined.service_connections() for w in connection.session.warnings}
    yield from (Finding(SESSIONS, warning) for warning in sorted(warnings))


def judge_settings(values: dict[str, str], role: str) -> Iterator[Finding]:
    """Yields a finding for each bad value. `values` has the values of pg_settings, with times in ms and sizes in MB."""
    for rule in RULES:
        if (value := values.get(rule.name)) is None or not rule.is_wrong(value):
            continue
        server = (
            f"`alter system set {rule.name} = '{rule.wanted}'` and `select pg_reload_conf()`, or the parameter group "
            "of a managed database"
        )
        of_role = f"`alter role {role} set {rule.name} = '{rule.wanted}'`, or for all: "
        yield Finding(
            SUBJECT,
            f"{rule.name} is {value or 'empty'}{rule.unit}; it should be {rule.wanted}",
            rule.why,
            (of_role if rule.of_role else "") + server,
            is_advice=rule.is_advice,
        )


def judge_connections(available: int, used: int, of_process: int) -> Iterator[Finding]:
    """Checks that a process can get enough connections, and that the server has free connections."""
    remedy = "`alter system set max_connections = …` and a restart, or a pooler in transaction mode"
    if available < of_process + _DIRECT_CONNECTIONS:
        yield Finding(
            SUBJECT,
            f"PostgreSQL has {available} connections for all; a process may take {of_process} and "
            f"{_DIRECT_CONNECTIONS} more",
            "requests without a connection are answered with 503",
            f"{remedy}, or a smaller QUEUE_MAX_CONNECTIONS",
        )
    if used > available * _FULL:
        yield Finding(
            SUBJECT,
            f"{used} of {available} connections are in use",
            "requests without a connection are answered with 503",
            f"{remedy}; the view `pg_stat_activity` shows their holders",
        )
