"""The settings that the service's sessions need, whatever the server's defaults are, and how a session gets them.

    without a pooler     the connection sets them when it is opened, in one call (`apply_settings_query`)
    through a pooler     the role has them (`penstock migrate --tune-role`): PgBouncer refuses start-up options, and
                         what a session sets would reach whoever gets its server connection next
    in our functions     client functions have the planner's settings (`function_settings`), also in the sessions
                         of applications

Values that an operator set for the role, the database or the connection stay unchanged.
"""

from typing import Final, NamedTuple

# Measured on PostgreSQL 15 and 18 with their defaults, beside 250,000 waiting messages: a receive took 1.1 ms, most of
# it for planning its queries, and takes 0.4 ms with generic plans. The worker `maintain` read 16,000 pages every two
# seconds, and reads 33 without sequential scans. With the just-in-time compiler of version 15 a call of the worker
# `measure` took 1.3 s. Statistics that are older than a queue's messages made receives ten times slower.
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
    # The longest wait for a lock of another transaction.
    "lock_timeout": "1s",
    # A call ends, and releases its locks, soon after its client is gone.
    "client_connection_check_interval": "5s",
    # Sessions of a vanished host end after a minute; the kernel would keep them for two hours. In seconds.
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
"""Names and values, in the form that PostgreSQL shows."""

# Sources in pg_settings of values that an operator set.
_CHOSEN: Final = "'global', 'database', 'user', 'database user', 'client', 'session'"
_WANTED: Final = ", ".join(f"('{name}', '{value}')" for name, value in SESSION_SETTINGS.items())
# Through a Unix socket the server shows keepalives as 0. On Windows it cannot detect that a client is gone.
_AVAILABLE: Final = """
    case when starts_with(w.name, 'tcp') then inet_client_addr() is not null
        when starts_with(w.name, 'client') then version() !~ 'Visual C|windows|mingw' else true end"""
# Whether the server may log bodies of messages, which are parameters of calls: with slow, sampled, all
# or failed statements, or with plans. Only a superuser can change it, so no session does.
_LOGS_PARAMETERS: Final = """
    current_setting('log_parameter_max_length_on_error') <> '0'
    or current_setting('log_parameter_max_length') <> '0' and (
        current_setting('log_min_duration_statement') <> '-1' or current_setting('log_statement') = 'all'
        or current_setting('log_min_duration_sample') <> '-1' or current_setting('log_transaction_sample_rate') <> '0')
    or coalesce(current_setting('auto_explain.log_min_duration', true), '-1') <> '-1'
        and coalesce(current_setting('auto_explain.log_parameter_max_length', true), '0') <> '0'"""
# The query reads pg_settings, which takes 1 ms, only if a value differs; with a tuned role none does.
_APPLY: Final = f"""
select own.direct, session_user::text, array_to_string(array(
    select w.name from (values {_WANTED}) w (name, value)
    where {_AVAILABLE} and current_setting(w.name) <> w.value and case
        when own.direct and w.name <> all (array(select s.name from pg_settings s where s.source in ({_CHOSEN})))
        then set_config(w.name, w.value, false) <> w.value else true end), ', '), {_LOGS_PARAMETERS}
from (select pg_backend_pid() = %d as direct) own"""  # noqa: S608 - constants only


class SessionState(NamedTuple):
    """The result of `apply_settings_query`. `missing` are names of settings with other values, separated by commas."""

    is_direct: bool
    """Whether the connection bypasses poolers. A pooler reports an invented process id."""
    role: str
    missing: str

    logs_parameters: bool
    """Whether the server may write parameters of calls, and so bodies of messages, into its log."""

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
    """Returns the query that gives the new session of this process id its settings; its row: SessionState."""
    return _APPLY % process_id
