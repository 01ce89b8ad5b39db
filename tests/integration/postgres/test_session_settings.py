"""Tests the service's session settings on any PostgreSQL server, for any role, with and without a pooler.

The sources are "pg_settings" (sources of values) and "CREATE FUNCTION" (SET) in PostgreSQL's documentation.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock.errors import ServiceUnavailable
from penstock.postgres import database as function_database
from penstock.postgres import psycopg_connection
from penstock.postgres.function_settings import list_called_functions
from penstock.postgres.migrations import find_sql_directory, migrate
from penstock.postgres.session_settings import PINNED_SETTINGS, PLANNER_SETTINGS, SESSION_SETTINGS
from penstock.postgres.statement import Statement
from penstock.postgres.statements.messages import SEND_MESSAGES
from penstock.settings import DRIVERS
from penstock_metrics.database.address import open_connection
from penstock_web.database.pipeline_pool import open_pipeline_connection
from penstock_web.database.pool import Pool
from penstock_web.local.postgres import ROLE
from tests.support.database import Database, TestServer, end_sessions
from tests.support.sql import hostile_settings
from tests.support.sql.calls import create, delete, receive, send
from tests.support.sql.hostile_settings import HARMLESS, HOSTILE, READ_ONLY, TRACKED, Place, Setting


# The session uses TCP, because the server shows keepalives as 0 on a Unix socket.
class Shown(NamedTuple):
    value: str


SHOW = Statement("public.show_setting", ("text",), Shown)
FUNCTION = """
create function public.show_setting(p_name text) returns text language sql as $$ select current_setting(p_name) $$;
grant execute on function public.show_setting to public"""
DEFAULTS = {
    "jit": "on",
    "plan_cache_mode": "auto",
    "enable_seqscan": "on",
    "enable_bitmapscan": "on",
    "enable_hashjoin": "on",
    "enable_mergejoin": "on",
    "lock_timeout": "0",
    "client_connection_check_interval": "0",
}


@pytest.fixture
def plain(database: Database) -> Iterator[str]:
    """Returns the database's address for a role without settings. Both drivers can parse the address."""
    role = f"plain_{database.name}"
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        administration.execute(FUNCTION.encode())
        administration.execute(f"create role {role} login password 'secret' in role {ROLE}".encode())
        parts = conninfo_to_dict(database.api_dsn)
        yield f"postgresql://{role}:secret@{parts['host']}:{parts['port']}/{database.name}"
        administration.execute(f"drop role {role}".encode())


def choose(database: Database, settings: Mapping[str, str]) -> None:
    """Changes the settings of the service's role for this database only, as an operator does."""
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        administration.execute(FUNCTION.encode())
        for name, value in settings.items():
            administration.execute(f"alter role {ROLE} in database {database.name} set {name} = '{value}'".encode())


# --- without a pooler ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_function_sets_them_itself(plain: str, driver: str) -> None:
    connection = function_database.find_connection_factory(driver)(plain, 8)
    shown = {name: connection.call(SHOW, [name])[0][0] for name in SESSION_SETTINGS}
    connection.close()
    assert shown == SESSION_SETTINGS
    assert (connection.session.is_direct, connection.session.warnings) == (True, ())


async def test_the_connections_of_the_container_set_them(plain: str) -> None:
    async def show() -> list[dict[str, str]]:
        pool = Pool(plain, 2, 5)
        await pool.open()
        pipeline = await open_pipeline_connection(plain, 8, uuid4())
        try:
            return [
                {name: (await call(SHOW, [name]))[0][0] for name in SESSION_SETTINGS}
                for call in (pool.call, pipeline.call)
            ]
        finally:
            pipeline.close()
            await pool.close()

    assert await show() == [SESSION_SETTINGS, SESSION_SETTINGS]


def test_a_chosen_setting_stays_and_is_named(database: Database) -> None:
    choose(database, {"lock_timeout": "3s"})
    with psycopg_connection.connect(database.api_dsn) as connection:
        assert connection.execute("show lock_timeout").fetchone() == ("3s",)
        assert connection.session.missing == "lock_timeout"


# --- through a pooler ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("driver", DRIVERS)
def test_the_role_has_them(database: Database, driver: str) -> None:
    connection = function_database.find_connection_factory(driver)(database.pooled_dsn, 8)
    connection.close()
    assert (connection.session.is_direct, connection.session.warnings) == (False, ())


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_role_without_them_is_named_and_the_sessions_of_others_stay(database: Database, driver: str) -> None:
    choose(database, DEFAULTS)
    connection = function_database.find_connection_factory(driver)(database.pooled_dsn, 8)
    shown = {name: connection.call(SHOW, [name])[0][0] for name in DEFAULTS}
    connection.close()
    assert shown == DEFAULTS
    assert connection.session.missing.split(", ") == list(DEFAULTS)
    (warning,) = connection.session.warnings
    assert warning.endswith(f"`penstock migrate --tune-role {ROLE}` gives them to the role")


# --- the server's log ------------------------------------------------------------------------------------------------
SLOW = {"log_min_duration_statement": "0"}
WITH_PARAMETERS = {"log_parameter_max_length": "-1"}


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(
    ("settings", "logs"),
    [
        (SLOW, False),
        (WITH_PARAMETERS, False),
        (SLOW | WITH_PARAMETERS, True),
        (WITH_PARAMETERS | {"log_statement": "all"}, True),
        (WITH_PARAMETERS | {"log_min_duration_sample": "5"}, True),
        (WITH_PARAMETERS | {"log_transaction_sample_rate": "0.1"}, True),
        ({"log_parameter_max_length_on_error": "8"}, True),
        ({"auto_explain.log_min_duration": "1s"}, False),
        ({"auto_explain.log_min_duration": "1s", "auto_explain.log_parameter_max_length": "-1"}, True),
    ],
)
def test_parameters_in_the_log_are_warned_of(
    database: Database, driver: str, settings: dict[str, str], logs: bool
) -> None:
    choose(database, settings)
    connection = function_database.find_connection_factory(driver)(database.api_dsn, 8)
    connection.close()
    said = [warning for warning in connection.session.warnings if "bodies of messages" in warning]
    assert len(said) == logs


@pytest.mark.parametrize("driver", DRIVERS)
def test_slow_calls_are_logged_without_bodies(postgres: TestServer, database: Database, driver: str) -> None:
    """The server has the settings that `penstock up`, compose and Terraform set."""
    choose(database, SLOW)
    log = postgres.server.data.parent / "log"
    start = log.stat().st_size
    connection = function_database.find_connection_factory(driver)(database.api_dsn, 8)
    connection.call(SHOW, ["jit"])
    with suppress(function_database.DriverError):
        connection.call(SHOW, ["no.such"])
    connection.close()
    written = log.read_bytes()[start:].decode()
    assert "show_setting" in written
    assert 'unrecognized configuration parameter "no.such"' in written
    assert "arameters: $1" not in written


# --- in the functions ------------------------------------------------------------------------------------------------
def test_functions_have_the_planners_whoever_calls(database: Database) -> None:
    """Functions in the language SQL have no settings, because a setting would prevent PostgreSQL from inlining the
    function into the caller's query."""
    with psycopg.connect(database.dsn) as connection:
        rows = connection.execute(
            "select p.oid::regprocedure::text, proconfig from pg_proc p join pg_language l on l.oid = p.prolang"
            " where pronamespace = 'queue'::regnamespace and proname = any (%s) and lanname = 'plpgsql'",
            (list_called_functions(find_sql_directory()),),
        ).fetchall()
    wanted = {f"{name}={value}" for name, value in PLANNER_SETTINGS.items()}
    assert [signature for signature, settings in rows if not wanted <= set(settings or [])] == []
    assert {name for name in ("send", "receive", "delete") if not any(f"queue.{name}(" in s for s, _ in rows)} == set()
    assert any(signature.startswith(f"{SEND_MESSAGES.name}(") for signature, _ in rows)


def test_the_callers_session_keeps_its_own(plain: str) -> None:
    with psycopg.connect(plain, autocommit=True) as connection:
        query = "select name, setting, source from pg_settings where name = any (%s)"
        before = connection.execute(query, (list(SESSION_SETTINGS),)).fetchall()
        arn = create(connection)
        send(connection, arn, "1")
        assert delete(connection, receive(connection, arn)) == ["deleted"]
        assert connection.execute(query, (list(SESSION_SETTINGS),)).fetchall() == before


def test_the_address_may_choose_too(plain: str) -> None:
    with psycopg_connection.connect(make_conninfo(plain, options="-c jit=on")) as connection:
        assert connection.session.missing == "jit"


# --- pinned settings -------------------------------------------------------------------------------------------------
NAMES = list(PINNED_SETTINGS)


def give_all(database: Database, place: Place, settings: Iterable[Setting]) -> dict[str, str]:
    """Sets the given settings for the sessions of the service's role. Returns the environment variables."""
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        administration.execute(FUNCTION.encode())
        return hostile_settings.give_all(administration, place, database.name, ROLE, settings)


def set_variables(monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("place", ["database", "role", "environment"])
async def test_every_direct_connection_has_the_pinned_settings(
    database: Database, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All hostile settings apply at the same time."""
    settings = [setting for setting in HOSTILE if setting != READ_ONLY]
    set_variables(monkeypatch, give_all(database, place, settings))
    shown = {}
    for driver in DRIVERS:
        connection = function_database.find_connection_factory(driver)(database.api_dsn, 8)
        shown[driver] = {name: connection.call(SHOW, [name])[0][0] for name in NAMES}
        connection.close()
    pool = Pool(database.api_dsn, 2, 5)
    await pool.open()
    pipeline = await open_pipeline_connection(database.api_dsn, 8, uuid4())
    for kind, call in (("pool", pool.call), ("pipeline", pipeline.call)):
        shown[kind] = {name: (await call(SHOW, [name]))[0][0] for name in NAMES}
    pipeline.close()
    await pool.close()
    with open_connection(database.api_dsn) as job:
        shown["metrics"] = {name: job.execute("select current_setting(%s)", (name,)).fetchall()[0][0] for name in NAMES}
    assert shown == dict.fromkeys(shown, PINNED_SETTINGS)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_connection_through_the_pooler_has_those_that_the_pooler_keeps(database: Database, driver: str) -> None:
    """PgBouncer restores four settings for each client on every server connection."""
    give_all(database, "database", [each for each in HOSTILE if each[0] in (*TRACKED, *HARMLESS)])
    connection = function_database.find_connection_factory(driver)(database.pooled_dsn, 8)
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        end_sessions(administration)
        with suppress(function_database.DriverError):
            connection.call(SHOW, ["jit"])
        connection.close()
        connection = function_database.find_connection_factory(driver)(database.pooled_dsn, 8)
        shown = {name: connection.call(SHOW, [name])[0][0] for name in TRACKED}
    connection.close()
    assert shown == {name: PINNED_SETTINGS[name] for name in TRACKED}


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_connection_through_the_pooler_with_others_is_refused_and_migrate_gives_them_to_the_role(
    database: Database, driver: str
) -> None:
    wrong = [each for each in HOSTILE if each[0] not in (*TRACKED, *HARMLESS) and each != READ_ONLY]
    give_all(database, "database", wrong)
    open_function = function_database.find_connection_factory(driver)
    with pytest.raises(function_database.DriverError) as refused:
        open_function(database.pooled_dsn, 8)
    assert f"sessions of the database role {ROLE} through the pooler have" in str(refused.value)
    assert [name for name, _ in wrong if f"{name} = " not in str(refused.value)] == []
    assert set(migrate(database.api_dsn).role_settings) == {name for name, _ in wrong}
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        end_sessions(administration)  # The pooler opens new server connections, which have the new settings.
    open_function(database.pooled_dsn, 8).close()
    assert migrate(database.api_dsn).role_settings == []


async def test_a_server_connection_that_gets_wrong_settings_later_is_found(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pooler's clients stay connected while the pooler opens new server connections."""
    monkeypatch.setattr("penstock_web.database.connect.CHECK_SECONDS", 0)
    monkeypatch.setattr("penstock.postgres.psycopg_connection.CHECK_SECONDS", 0)
    monkeypatch.setattr("penstock.postgres.database.CHECK_SECONDS", 0)
    pool = Pool(database.pooled_dsn, 1, 0.5)
    await pool.open()
    worker = psycopg_connection.connect(database.pooled_dsn)
    functions = [function_database.Database(database.pooled_dsn, driver) for driver in DRIVERS]
    for function in functions:
        function.call(SEND_MESSAGES, [[] if kind.endswith("[]") else None for kind in SEND_MESSAGES.types])
    assert await pool.fetch("select 1") == [(1,)]
    give_all(database, "role", [("default_transaction_isolation", "serializable")])
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        end_sessions(administration)
    said = "Sessions of the database have wrong settings: default_transaction_isolation = serializable"
    for _ in range(2):
        with pytest.raises(ServiceUnavailable, match=said):
            await pool.fetch("select 1")
    with pytest.raises(psycopg_connection.WrongSettingsError, match="default_transaction_isolation = serializable"):
        worker.check_again()
    for function in functions:
        with pytest.raises(ServiceUnavailable, match=said):
            function.connection()
    assert migrate(database.api_dsn, role=ROLE).role_settings == []
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        end_sessions(administration)
    async with asyncio.timeout(30):
        while True:
            with suppress(ServiceUnavailable):
                assert await pool.fetch("select 1") == [(1,)]
                break
    for function in functions:
        function.connection().close()
    await pool.close()
