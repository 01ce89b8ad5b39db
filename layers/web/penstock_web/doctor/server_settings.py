"""Checks PostgreSQL's settings in a session of the service (docs/operate/postgres_settings.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from .examination import Examination, Finding
from .pooler import compute_available_connections

SUBJECT = "PostgreSQL"
SESSIONS = "sessions"
_DIRECT_CONNECTIONS: Final = 5
"""How many direct connections a process needs in addition to QUEUE_MAX_CONNECTIONS."""
_SHORTEST_TIMEOUT_MS: Final = 5_000
_FULL: Final = 0.9

# The query returns times in milliseconds and sizes in MB. The query omits settings that the server's version does not
# have.
_VALUES: Final = """
select s.name, case s.unit
    when 's' then (s.setting::bigint * 1000)::text when 'min' then (s.setting::bigint * 60000)::text
    else s.setting end
from pg_settings s where s.name = any (%s)
"""


class Rule(NamedTuple):
    """A setting, and the values of the setting that cause a finding."""

    name: str
    is_wrong: Callable[[str], bool]
    wanted: str
    why: str
    is_advice: bool = False
    of_role: bool = False
    """True if roles can have their own value of the setting. The remedy then names the role."""
    unit: str = ""
    """The unit of the value, or "" for a value without a unit."""


def _is_off(value: str) -> bool:
    return value == "off"


def _is_short(value: str) -> bool:
    return 0 < int(value) < _SHORTEST_TIMEOUT_MS


_ENDS_CALLS: Final = (
    "calls of the workers can take seconds; the server ends these calls, and the workers repeat them forever"
)
RULES: Final = (
    Rule("fsync", _is_off, "on", "if the machine crashes, acknowledged messages or the whole database can be lost"),
    Rule("full_page_writes", _is_off, "on", "if the machine crashes, pages that PostgreSQL is writing can be damaged"),
    Rule(
        "synchronous_commit",
        _is_off,
        "on",
        "if the server crashes, messages that it has just acknowledged are lost",
        of_role=True,
    ),
    Rule("autovacuum", _is_off, "on", "queues constantly create dead rows, which make receives slower every hour"),
    Rule("track_counts", _is_off, "on", "autovacuum needs this setting"),
    Rule(
        "default_transaction_isolation",
        lambda value: value != "read committed",
        "read committed",
        "concurrent calls for a queue fail with serialization errors",
        of_role=True,
    ),
    Rule("statement_timeout", _is_short, "0", _ENDS_CALLS, of_role=True),
    Rule("transaction_timeout", _is_short, "0", _ENDS_CALLS, of_role=True),
    Rule(
        "idle_session_timeout",
        lambda value: value != "0",
        "0",
        "the connection for LISTEN is always idle, so the server closes the connection, and the service reopens it",
        is_advice=True,
        of_role=True,
    ),
    Rule(
        "idle_in_transaction_session_timeout",
        lambda value: value == "0",
        "10min",
        "a forgotten transaction prevents vacuum from removing dead rows",
        is_advice=True,
    ),
    Rule(
        "autovacuum_naptime",
        lambda value: int(value) > 60_000,
        "10s",
        "queues constantly create dead rows, which vacuum must remove",
        is_advice=True,
    ),
    Rule(
        "max_wal_size",
        lambda value: int(value) < 2_000,
        "2GB",
        "frequent checkpoints make PostgreSQL write more whole pages to the WAL",
        unit="MB",
        is_advice=True,
    ),
)


def check_server_settings(examined: Examination) -> Iterator[Finding]:
    """Checks the server's settings. Raises psycopg's errors."""
    connection = examined.connect_directly()
    values: dict[str, str] = dict(connection.execute(_VALUES, ([rule.name for rule in RULES],)).fetchall())
    yield from judge_settings(values, connection.session.role)
    row = connection.execute("select count(*) from pg_stat_activity where backend_type = 'client backend'").fetchone()
    yield from judge_connections(
        compute_available_connections(connection), row[0] if row else 0, examined.settings.queue_max_connections
    )


def check_session_settings(examined: Examination) -> Iterator[Finding]:
    """Yields a finding for each wrong setting of the service's sessions, such as settings that make the server log
    message texts. Raises psycopg's errors.
    """
    warnings = {w for connection in examined.connect_to_service() for w in connection.session.warnings}
    yield from (Finding(SESSIONS, warning) for warning in sorted(warnings))


def judge_settings(values: dict[str, str], role: str) -> Iterator[Finding]:
    """Yields a finding for each bad value. `values` contains values from pg_settings, with times in ms and sizes in
    MB.
    """
    for rule in RULES:
        if (value := values.get(rule.name)) is None or not rule.is_wrong(value):
            continue
        server = (
            f"run `alter system set {rule.name} = '{rule.wanted}'` and `select pg_reload_conf()`, or change the "
            "parameter "
            "group of a managed database"
        )
        of_role = f"run `alter role {role} set {rule.name} = '{rule.wanted}'`; or, for all roles, "
        yield Finding(
            SUBJECT,
            f"{rule.name} is {value or 'empty'}{rule.unit}; it should be {rule.wanted}",
            rule.why,
            (of_role if rule.of_role else "") + server,
            is_advice=rule.is_advice,
        )


def judge_connections(available: int, used: int, of_process: int) -> Iterator[Finding]:
    """Checks that the server has enough connections for a process, and that the server has free connections."""
    remedy = "run `alter system set max_connections = …` and restart PostgreSQL, or use a pooler in transaction mode"
    if available < of_process + _DIRECT_CONNECTIONS:
        yield Finding(
            SUBJECT,
            f"PostgreSQL has {available} connections for all users, and a service process can use {of_process} and "
            f"{_DIRECT_CONNECTIONS} more",
            "the service answers requests without a connection with 503",
            f"{remedy}, or reduce QUEUE_MAX_CONNECTIONS",
        )
    if used > available * _FULL:
        yield Finding(
            SUBJECT,
            f"{used} of {available} connections are in use",
            "the service answers requests without a connection with 503",
            f"{remedy}; the view `pg_stat_activity` shows the users of connections",
        )
