"""Migrates a database to this release's schema. Numbered migrations change the tables, and a migration run replaces all
functions.

    sql/migrations/NNNN_name.sql   Each migration runs once, in order, in its own transaction, and never changes later.
    sql/functions/SUBJECT/*.sql    If a function has changed, a run replaces all functions in one transaction.
    sql/former/*.sql               A run replaces the functions for the previous release together with all functions.
    sql/views/*.sql                A run replaces the views for readers of the tables after the functions.
    sql/grants.sql                 Each run creates the roles, if permitted (roles.py), and applies the grants.

Any number of runners can start at once. All runners take the same advisory lock. The first runner works, and the other
runners wait and find the database up to date. A migration inserts its number in the transaction of its changes, so it
is never applied without its record. A migration waits only briefly for a table lock and then tries again, so that the
service's statements do not queue behind it. The connection must be direct, because a pooler in transaction mode does
not keep the advisory lock.

The record of the functions names their release. An older release keeps a newer release's functions and reports a
warning, for example when a task of the old image starts during a rollout. The older code can call the newer functions.

Until release 0.1.0 the baseline changes in place. `migrate` refuses a database with another baseline.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final

import psycopg
from packaging.version import Version
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock import __version__
from penstock.settings import Settings

from . import function_settings, roles
from .iam_token import add_token
from .server_check import find_server_problem
from .session_settings import FIND_WRONG_SETTINGS, PINNED_SETTINGS, POOLED_SETTINGS, SESSION_SETTINGS
from .statement import Row

Connection = psycopg.Connection[Row]

# The bytes of "penstock". All releases must use the same number.
_LOCK_KEY: Final = 0x70656E73746F636B
_STORE_DEFAULTS: Final = (
    "update queue.new_queue_default set shards = %s, visibility_timeout_seconds = %s "
    "where (shards, visibility_timeout_seconds) is distinct from (%s, %s)"
)
_LOCK_TIMEOUT_MS: Final = 2000
_LOCK_ATTEMPTS: Final = 30
_FILE_NAME: Final = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_BASELINE: Final = "0001_baseline.sql"
_OTHER_BASELINE: Final = (
    "a commit before release 0.1.0 made this database, by another 0001_baseline.sql, and no release migrates it: "
    "migrate an empty database instead"
)
# The row of queue.migration for functions and grants. The row names the release.
_FUNCTIONS: Final = 0
_RECORD_PREFIX: Final = "functions "
RELEASE: Final = __version__

_BOOTSTRAP: Final = """
create schema if not exists queue;
create table if not exists queue.migration (
    number int primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp()
);
comment on table queue.migration is 'Migrations applied, and as number 0 the functions and grants.';
"""

# Finds an object of the schema that the bootstrap below does not create.
_FOREIGN_OBJECT: Final = """
select case when c.kind = 'r' then 'the table ' else 'the object ' end || c.name from (
    select relname, relkind::text from pg_class where relnamespace = to_regnamespace('queue')
        and relkind <> 'i' and relname <> 'migration'
    union all
    select proname, 'f' from pg_proc where pronamespace = to_regnamespace('queue')
    union all
    select typname, 't' from pg_type where typnamespace = to_regnamespace('queue') and typtype in ('d', 'e', 'r')
) c (name, kind)
order by 1 desc limit 1
"""
# Describes an object that has the record's name, or null for the record itself.
_RECORD_PROBLEM: Final = """
select case
    when c.relkind <> 'r' then 'the object migration'
    when (select array_agg(a.attname || ' ' || format_type(a.atttypid, null) order by a.attname) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
        <> array['applied_at timestamp with time zone', 'checksum text', 'name text', 'number integer']
        then 'the table migration'
end
from pg_class c where c.oid = to_regclass('queue.migration')
"""
# Returns the owner of a schema without tables, if the migrating role lacks the owner's rights. A superuser has the
# rights of every role, so a superuser who migrates must itself be the owner.
_OTHER_OWNER: Final = """
select pg_get_userbyid(n.nspowner) from pg_namespace n join pg_roles r on r.rolname = current_user
where n.nspname = 'queue' and n.nspowner <> r.oid and (r.rolsuper or not pg_has_role(r.oid, n.nspowner, 'USAGE'))
    and not exists (select from pg_class c where c.relnamespace = n.oid)
"""
_USUAL_PATH: Final = sql.SQL('"$user", public')

# The service's role always prefers index scans (see tune_role). A migration needs the planner's defaults.
_SESSION: Final = """
set client_min_messages = warning; set plan_cache_mode = auto; set enable_seqscan = on; set enable_bitmapscan = on;
set enable_hashjoin = on; set enable_mergejoin = on; set statement_timeout = 0; set lock_timeout = 0
"""

_GRANTS: Final = """
select md5(coalesce(string_agg(g.acl, ' ' order by g.acl), '')) from (
    select concat(p.oid, p.proowner, p.proacl) as acl from pg_proc p where p.pronamespace = 'queue'::regnamespace
    union all
    select c.oid || coalesce(c.relacl::text, '') from pg_class c where c.relnamespace = 'queue'::regnamespace
    union all
    select 'schema' || coalesce(n.nspacl::text, '') from pg_namespace n where n.nspname = 'queue') g
"""


class MigrationError(Exception):
    """The run cannot apply a migration. The text names the file and the cause."""


@dataclass(frozen=True, slots=True)
class Script:
    """An SQL file. The number is 1 or more for a migration, and 0 for functions and grants."""

    number: int
    name: str
    text: bytes

    @property
    def checksum(self) -> str:
        """Returns the SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text).hexdigest()


@dataclass(slots=True)
class Applied:
    """The result of a run, with the applied migrations, and whether the run applied functions and grants.

    `role_settings` are the settings that the run gave the migrating role in this database. The role's sessions had
    other values, which break the service behind a pooler.

    `grants` means that the functions were up to date, but grants were missing, for example after a restore. `warning`
    is the reason why the run kept different functions. `missing_roles` are commands that the migrating role cannot
    run. Until an administrator runs them, applications have no role for the SQL interface.
    """

    migrations: list[str] = field(default_factory=list)
    functions: bool = False
    grants: bool = False
    warning: str = ""
    missing_roles: list[str] = field(default_factory=list)
    role_settings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Missing:
    """The scripts that `migrate` would apply. `release` is the release of the database's functions, or "" if the
    database has no functions.

    `warning` is the reason why `migrate` would keep different functions.
    """

    migrations: list[str]
    functions: bool
    release: str
    warning: str


def find_sql_directory() -> Path:
    """Returns the folder sql/, which is inside the installed package or at the root of the checkout."""
    installed = Path(__file__).parents[1] / "sql"
    return installed if installed.is_dir() else Path(__file__).parents[4] / "sql"


def migrate(
    dsn: str, directory: Path | None = None, role: str | None = None, service: Settings | None = None
) -> Applied:
    """Applies the missing scripts and gives `role` its settings. Raises MigrationError, TokenError.

    `service` has the defaults of queues that the SQL interface creates. If `service` is None, the stored defaults stay.
    """
    directory = directory or find_sql_directory()
    with _connect(dsn) as connection:
        wrong_settings = _pin_settings(connection)
        _check_encoding(connection)
        if problem := find_server_problem(connection):
            raise MigrationError(problem)
        # The settings precede the lock, because the role's lock_timeout would end the wait for another runner.
        connection.execute(_SESSION.encode())
        connection.execute("select pg_advisory_lock(%s)", (_LOCK_KEY,))
        _check_owner(connection)
        _check_schema(connection)
        connection.execute(_BOOTSTRAP.encode())
        missing_roles = roles.create_roles(connection)
        if problem := roles.find_owner_problem(connection, missing_roles):
            raise MigrationError(problem)
        applied = _apply_missing(connection, directory)
        applied.missing_roles = missing_roles
        if service:
            defaults = (service.queue_shards, service.queue_default_visibility_timeout)
            connection.execute(_STORE_DEFAULTS.encode(), (*defaults, *defaults))
        if role:
            tune_role(connection, role)
        else:
            applied.role_settings = wrong_settings
            _set_in_database(connection, connection.info.user, wrong_settings)
    return applied


def _connect(dsn: str) -> Connection:
    parameters = {**add_token(conninfo_to_dict(dsn)), "client_encoding": "UTF8"}
    return psycopg.connect(make_conninfo("", **parameters), autocommit=True)


def _pin_settings(connection: Connection) -> list[str]:
    """Applies PINNED_SETTINGS to the session. Returns the names of settings that would differ in a session behind a
    pooler."""
    wrong = [name for (name,) in connection.execute(FIND_WRONG_SETTINGS.encode()).fetchall()]
    for name, value in PINNED_SETTINGS.items():
        connection.execute("select set_config(%s, %s, false)", (name, value))
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return wrong


def find_missing(connection: Connection) -> Missing:
    """Compares a database with this release. Changes nothing. Raises MigrationError and psycopg's errors."""
    directory = find_sql_directory()
    migrations = read_migrations(directory)
    _check_schema(connection)
    if connection.execute("select to_regclass('queue.migration')").fetchone() == (None,):
        return Missing([script.name for script in migrations], functions=True, release="", warning="")
    recorded = _read_recorded(connection)
    _check_unchanged(migrations, recorded)
    row = connection.execute("select name from queue.migration where number = %s", (_FUNCTIONS,)).fetchone()
    return Missing(
        [script.name for script in migrations if script.number not in recorded],
        recorded.get(_FUNCTIONS) != _read_all_functions(directory, read_functions(directory)).checksum,
        row[0].removeprefix(_RECORD_PREFIX) if row else "",
        _find_newer_functions(connection, max(recorded, default=0) > len(migrations)),
    )


def _check_encoding(connection: Connection) -> None:
    """Raises MigrationError unless the encoding is UTF8. Other encodings refuse some messages, and SQL_ASCII
    returns bytes."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise MigrationError(
            f"the database's encoding is {encoding}, it must be UTF8: "
            "create database … encoding 'UTF8' template template0"
        )


def _check_schema(connection: Connection) -> None:
    """Raises MigrationError if the schema `queue` has objects of another application. Accepts an empty schema."""
    row = connection.execute(_FOREIGN_OBJECT.encode()).fetchone()
    record = connection.execute(_RECORD_PROBLEM.encode()).fetchone()
    is_ours = record == (None,) and connection.execute("select from queue.migration limit 1").fetchone() is not None
    foreign = record[0] if record else None
    if row is not None and not is_ours:
        foreign = row[0]
    if foreign is not None:
        raise MigrationError(
            f"the schema queue of this database is not Penstock's, because it has {foreign}: "
            "choose another database, or have the owner rename that schema"
        )


def _check_owner(connection: Connection) -> None:
    """Raises MigrationError if an empty schema `queue` belongs to a role whose rights the migrating role lacks."""
    for (owner,) in connection.execute(_OTHER_OWNER.encode()).fetchall():
        raise MigrationError(
            f"the schema queue of this database is empty and belongs to the role {owner}: choose another database, or "
            f"migrate as {owner} or a member of {owner}"
        )


def tune_role(connection: Connection, role: str) -> None:
    """Gives a login role the settings that the service's sessions need, also behind a pooler.

    The settings for a pooler (POOLED_SETTINGS) apply only in this database.

    A role can change its own settings, but needs CREATEROLE to change another role. Do not use this function for a
    role that other applications use. Raises MigrationError if the role does not exist or cannot be changed.
    """
    try:
        _set_for_role(connection, role)
    except psycopg.errors.UndefinedObject:
        raise MigrationError(f"--tune-role: there is no role {role!r}; the schema is up to date") from None
    except psycopg.errors.InsufficientPrivilege as error:
        own = connection.info.user
        raise MigrationError(
            f"--tune-role: {own} may not change the role {role}: {error.diag.message_primary}. "
            f"Have a role with CREATEROLE, or {role} itself, run this; where the service logs in as {own}, it is "
            f"--tune-role {own}. The schema is up to date"
        ) from error


def _set_for_role(connection: Connection, role: str) -> None:
    for name, value in SESSION_SETTINGS.items():
        statement = "alter role {} set {} = {}"
        connection.execute(sql.SQL(statement).format(sql.Identifier(role), sql.Identifier(name), sql.Literal(value)))
    _set_in_database(connection, role, POOLED_SETTINGS)


def _set_in_database(connection: Connection, role: str, names: Iterable[str]) -> None:
    """Sets the given PINNED_SETTINGS for a role in this database."""
    for name in names:
        value = _USUAL_PATH if name == "search_path" else sql.Literal(PINNED_SETTINGS[name])
        connection.execute(
            sql.SQL("alter role {} in database {} set {} = {}").format(
                sql.Identifier(role), sql.Identifier(connection.info.dbname), sql.Identifier(name), value
            )
        )


def _apply_missing(connection: Connection, directory: Path) -> Applied:
    migrations = read_migrations(directory)
    applied = Applied()
    recorded = _read_recorded(connection)
    _check_unchanged(migrations, recorded)
    for script in migrations:
        if script.number not in recorded:
            _retry_locked(connection, script, lambda script=script: _apply_migration(connection, script))  # type: ignore[misc]
            applied.migrations.append(script.name)
    has_older_tables = max(recorded, default=0) > len(migrations)
    _apply_changed_functions(connection, directory, recorded.get(_FUNCTIONS), has_older_tables, applied)
    return applied


def _find_newer_functions(connection: Connection, has_older_tables: bool) -> str:
    """Returns a warning if the database has functions or migrations of a newer release, and "" otherwise."""
    row = connection.execute("select name from queue.migration where number = %s", (_FUNCTIONS,)).fetchone()
    release = row[0].removeprefix(_RECORD_PREFIX) if row else RELEASE
    if Version(release) > Version(RELEASE):
        return f"the database keeps the functions of release {release}: this is the older release {RELEASE}"
    if has_older_tables:
        return f"the database keeps its functions: it has migrations that this release {RELEASE} does not know"
    return ""


def read_migrations(directory: Path) -> list[Script]:
    """Returns a folder's migrations in order. Raises MigrationError for a bad name, a gap or a repeated number."""
    scripts = []
    for path in sorted((directory / "migrations").glob("*.sql")):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None:
            raise MigrationError(f"{path.name}: migrations are named NNNN_name.sql, in lower case")
        scripts.append(Script(int(match[1]), path.name, path.read_bytes()))
    if [s.number for s in scripts] != list(range(1, len(scripts) + 1)):
        raise MigrationError(f"migrations must be numbered from 0001 without gaps: {[s.name for s in scripts]}")
    return scripts


def read_functions(directory: Path) -> list[Script]:
    """Returns all functions by file name, then the previous release's functions, then views, then the grants.

    The order of the functions, and so the checksum, does not depend on the subject's folder.
    """
    folders = [
        sorted((directory / name).rglob("*.sql"), key=lambda path: path.name)
        for name in ("functions", "former", "views")
    ]
    paths = [*chain.from_iterable(folders), directory / "grants.sql"]
    return [Script(_FUNCTIONS, path.name, path.read_bytes()) for path in paths if path.exists()]


def _read_recorded(connection: Connection) -> dict[int, str]:
    return dict(connection.execute("select number, checksum from queue.migration").fetchall())


def _check_unchanged(migrations: list[Script], recorded: dict[int, str]) -> None:
    for script in migrations:
        if recorded.get(script.number, script.checksum) != script.checksum:
            if script.name == _BASELINE:
                raise MigrationError(_OTHER_BASELINE)
            raise MigrationError(
                f"{script.name} was changed after it had been applied here; "
                "put its text back and write a new migration instead"
            )


def _apply_migration(connection: Connection, script: Script) -> None:
    insert = "insert into queue.migration (number, name, checksum) values (%s, %s, %s)"
    connection.execute(insert, (script.number, script.name, script.checksum))
    connection.execute(script.text)


def _apply_changed_functions(
    connection: Connection, directory: Path, recorded: str | None, has_older_tables: bool, applied: Applied
) -> None:
    scripts = read_functions(directory)
    all_functions = _read_all_functions(directory, scripts)
    if not scripts or recorded == all_functions.checksum:
        applied.grants = bool(scripts) and _apply_grants(connection, scripts[-1])
        return
    applied.warning = _find_newer_functions(connection, has_older_tables)
    if not applied.warning:
        _retry_locked(
            connection, all_functions, lambda: _apply_functions(connection, directory, scripts, all_functions.checksum)
        )
        applied.functions = True


def _read_all_functions(directory: Path, scripts: list[Script]) -> Script:
    text = b"".join(s.name.encode() + b"\0" + s.text + b"\0" for s in scripts)
    return Script(_FUNCTIONS, "functions", text + function_settings.compute_fingerprint(directory))


def _apply_grants(connection: Connection, script: Script) -> bool:
    """Applies the grants, which a dump does not restore if the roles do not exist. Returns whether any grant was
    missing."""
    before = connection.execute(_GRANTS).fetchone()

    def grant() -> None:
        connection.execute(script.text)

    _retry_locked(connection, script, grant)
    return connection.execute(_GRANTS).fetchone() != before


def _apply_functions(connection: Connection, directory: Path, scripts: list[Script], checksum: str) -> None:
    connection.execute(
        "insert into queue.migration (number, name, checksum) values (%s, %s, %s) on conflict (number) do update "
        "set name = excluded.name, checksum = excluded.checksum, applied_at = clock_timestamp()",
        (_FUNCTIONS, f"{_RECORD_PREFIX}{RELEASE}", checksum),
    )
    # The runner applies files in the order of their names, and a function can call a later function. Therefore the
    # first pass only creates the functions, and the second pass checks their bodies.
    for checked in ("off", "on"):
        connection.execute(sql.SQL("set local check_function_bodies = {}").format(sql.Literal(checked)))
        for script in scripts:
            try:
                connection.execute(script.text)
            except psycopg.errors.LockNotAvailable:
                raise
            except psycopg.Error as error:
                raise MigrationError(f"{script.name}: {error}") from error
    function_settings.set_on_functions(connection, directory)


def _retry_locked(connection: Connection, script: Script, work: Callable[[], None]) -> None:
    """Runs `work` in a transaction that waits only briefly for locks, and retries the transaction after a pause."""
    for attempt in range(1, _LOCK_ATTEMPTS + 1):
        try:
            with connection.transaction():
                connection.execute(sql.SQL("set local lock_timeout = {}").format(_LOCK_TIMEOUT_MS))
                work()
            return
        except psycopg.errors.LockNotAvailable as error:
            if attempt == _LOCK_ATTEMPTS:
                raise MigrationError(f"{script.name}: no lock after {attempt} attempts: {error}") from error
            time.sleep(min(0.1 * attempt, 2))
        except psycopg.Error as error:
            raise MigrationError(f"{script.name}: {error}") from error
