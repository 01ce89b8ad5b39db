"""Defines the settings that the service's sessions need, and applies them to a session.

PINNED_SETTINGS decide how PostgreSQL reads texts and times, and whether calls see each other's rows. Every connection
of Penstock has the values of PINNED_SETTINGS. The role, the database, the server and libpq's environment cannot change
them:

    without a pooler     The connection sets the values when it opens, in one call (`apply_settings_query`).
    through PgBouncer    The connection sets the values that PgBouncer keeps for each client (TRACKED). The role has the
                         other values in this database, from `penstock migrate`. The service refuses a connection with
                         another value (`SessionState.problem`).

SESSION_SETTINGS make calls fast and release locks. An operator's values for the role, the database or the connection
stay unchanged:

    without a pooler     The connection sets SESSION_SETTINGS in the same call.
    through a pooler     The role has SESSION_SETTINGS (`penstock migrate --tune-role`). PgBouncer refuses start-up
                         options, and a session's settings would affect the next client of the server connection.
    in our functions     Client functions have the planner's settings (`function_settings`), also in applications'
                         sessions.

A client behind a pooler does not learn when the pooler opens a server connection. Therefore the service checks each new
connection to the pooler, and checks it again before the first call after CHECK_SECONDS. A check sees only one server
connection. If only some server connections have a wrong value, a later check finds it.

PINNED_SETTINGS do not have default_transaction_read_only. An operator, or a provider during a switch to another server,
sets default_transaction_read_only to protect a database from writes. `server_check` refuses a read-only database at the
start. Calls to a database that becomes read-only later fail with 503.
"""

from typing import Final, NamedTuple

CHECK_SECONDS: Final = 30.0
"""The number of seconds after which the service checks a connection to a pooler again."""

PINNED_SETTINGS: Final = {
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
    "standard_conforming_strings": "on",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",
    "default_transaction_isolation": "read committed",
    "search_path": "pg_catalog",
}
"""Names and values, in the form that PostgreSQL shows. No text of Penstock depends on lc_monetary, lc_numeric or
lc_time."""
TRACKED: Final = ("client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings")
"""The settings that PgBouncer keeps for each client. Source: "track_extra_parameters" in PgBouncer's documentation."""

# The times below were measured on PostgreSQL 15 and 18 with 250,000 waiting messages. With PostgreSQL's defaults a
# receive took 1.1 ms, mostly for planning, and with generic plans it takes 0.4 ms. The worker `maintain` read 16,000
# pages every two seconds with sequential scans, and reads 33 pages without them. With the just-in-time compiler of
# version 15 a call of the worker `measure` took 1.3 s. Receives were ten times slower if the statistics were older than
# a queue's messages.
PLANNER_SETTINGS: Final = {
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}

SESSION_SETTINGS: Final = {
    **PLANNER_SETTINGS,
    # The longest wait for another transaction's lock.
    "lock_timeout": "1s",
    # A call ends soon after its client disconnects, and releases its locks.
    "client_connection_check_interval": "5s",
    # Sessions of a vanished host end after a minute. With the kernel's defaults, such sessions would last for two
    # hours. In seconds.
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
"""Names and values, in the form that PostgreSQL shows."""

# Behind a pooler a role keeps its search_path, because applications may need it. Every name in Penstock's SQL has a
# schema. PostgreSQL searches pg_catalog first, unless the path names pg_catalog after another schema.
_IS_WRONG: Final = """
    case when p.name = 'quote_all_identifiers' and not own.direct then false  -- only the text of the schema has it
        when p.name = 'search_path' and not own.direct
        then position('pg_catalog' in ltrim(current_setting(p.name), ' "')) > 1
        else current_setting(p.name) <> p.value end"""
_PINS: Final = ", ".join(
    f"('{name}', '{value}', {str(name in TRACKED).lower()})" for name, value in PINNED_SETTINGS.items()
)
# In pg_settings, values that an operator has set have these sources.
_CHOSEN: Final = "'global', 'database', 'user', 'database user', 'client', 'session'"
_WANTED: Final = ", ".join(f"('{name}', '{value}')" for name, value in SESSION_SETTINGS.items())
# Through a Unix socket the server shows keepalives as 0. A server on Windows cannot detect that a client has
# disconnected.
_AVAILABLE: Final = """
    case when starts_with(w.name, 'tcp') then inet_client_addr() is not null
        when starts_with(w.name, 'client') then version() !~ 'Visual C|windows|mingw' else true end"""
# The query returns whether the server may log message bodies, which are parameters of calls. A server can log bodies
# with slow, sampled, all or failed statements, or with plans. Only a superuser can change these settings, so Penstock's
# sessions do not change them.
_LOGS_PARAMETERS: Final = """
    current_setting('log_parameter_max_length_on_error') <> '0'
    or current_setting('log_parameter_max_length') <> '0' and (
        current_setting('log_min_duration_statement') <> '-1' or current_setting('log_statement') = 'all'
        or current_setting('log_min_duration_sample') <> '-1' or current_setting('log_transaction_sample_rate') <> '0')
    or coalesce(current_setting('auto_explain.log_min_duration', true), '-1') <> '-1'
        and coalesce(current_setting('auto_explain.log_parameter_max_length', true), '0') <> '0'"""
_PIN: Final = f"""
    array_to_string(array(
        select p.name || ' = ' || current_setting(p.name) from (values {_PINS}) p (name, value, tracked)
        where case when not ({_IS_WRONG}) then false
            when own.direct or p.tracked then set_config(p.name, p.value, false) <> p.value else true end), '; ')
from (select pg_backend_pid() = %d as direct) own"""  # noqa: S608 - constants only
# The query reads pg_settings, which takes 1 ms, only if a value differs. In a session of a tuned role, no value
# differs.
_APPLY: Final = f"""
select own.direct, session_user::text, array_to_string(array(
    select w.name from (values {_WANTED}) w (name, value)
    where {_AVAILABLE} and current_setting(w.name) <> w.value and case
        when own.direct and w.name <> all (array(select s.name from pg_settings s where s.source in ({_CHOSEN})))
        then set_config(w.name, w.value, false) <> w.value else true end), ', '), {_LOGS_PARAMETERS}, {_PIN}"""  # noqa: S608


class SessionState(NamedTuple):
    """The result of `apply_settings_query`. `missing` are the names of settings with other values, separated by
    commas."""

    is_direct: bool = False
    """Whether the connection bypasses poolers. A pooler reports an invented process id."""
    role: str = ""
    missing: str = ""

    logs_parameters: bool = False
    """Whether the server may write parameters of calls, and so message bodies, into its log."""

    wrong: str = ""
    """The names and current values of PINNED_SETTINGS that are wrong and that the session cannot set."""

    @property
    def problem(self) -> str:
        """Returns the reason why the service cannot use the session, with the remedy, or ""."""
        if not self.wrong:
            return ""
        return (
            f"sessions of the database role {self.role} through the pooler have {self.wrong}, with which Penstock "
            f"does not work: run `penstock migrate --tune-role {self.role}`, which gives the role other values in this "
            "database, and then RECONNECT on the pooler's console"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Returns a line for each problem, with its remedy."""
        found = []
        if self.missing:
            found.append(
                f"sessions of the database role {self.role} lack settings that calls rely on ({self.missing}): "
                f"`penstock migrate --tune-role {self.role}` gives them to the role"
            )
        if self.logs_parameters:
            found.append(
                "PostgreSQL may write parameters of calls, and so bodies of messages, into its log: set "
                "log_parameter_max_length and log_parameter_max_length_on_error to 0"
            )
        return tuple(found)


def apply_settings_query(process_id: int) -> str:
    """Returns the query that applies the settings to a new session with this process id. The query returns
    SessionState."""
    return _APPLY % process_id


def pin_settings_query(process_id: int) -> str:
    """Returns the query that applies PINNED_SETTINGS to a session with this process id. The query returns
    SessionState without `missing` and `logs_parameters`."""
    return f"select own.direct, session_user::text, {_PIN}" % process_id


FIND_WRONG_SETTINGS: Final = f"""
select p.name from (values {_PINS}) p (name, value, tracked) cross join (select false as direct) own
where not p.tracked and ({_IS_WRONG})"""  # noqa: S608 - constants only
"""Finds the names of wrong PINNED_SETTINGS that a session behind a pooler cannot set."""

POOLED_SETTINGS: Final = {
    name: value
    for name, value in PINNED_SETTINGS.items()
    if name not in (*TRACKED, "search_path", "quote_all_identifiers")
}
"""The settings that a role needs behind a pooler. The role's search_path stays unchanged, unless it is wrong."""


def describe_wrong_settings(wrong: str) -> str:
    """Returns the message of a response 503 for SessionState.wrong."""
    return f"Sessions of the database have wrong settings: {wrong}."
