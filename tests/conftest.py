"""Provides fixtures for all tests."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Generator, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import hypothesis
import psycopg
import pytest
import uvloop

from penstock.observing.telemetry import JsonFormatter
from tests.support import client_setup
from tests.support.database import Database, TestServer, delete_rows, running_test_server
from tests.support.schedules.rows import Hour
from tests.support.web.virtual_clock import VirtualLoop

# An example may take any amount of time, because the machine may be overloaded.
hypothesis.settings.register_profile("penstock", deadline=None)
hypothesis.settings.load_profile("penstock")

client_setup.read_once()


def shares_a_fixture(item: pytest.Function) -> bool:
    """Returns whether a test requests a fixture that its module makes once. The fixtures of every test (`_name`) do
    not count.

    The function reads a private attribute, because pytest's hooks do not get a fixture's scope before the fixture is
    made.
    """
    if item.get_closest_marker("shared") or item.get_closest_marker("emptied"):
        return True
    made = item._fixtureinfo.name2fixturedefs
    return any(made[name][-1].scope == "module" for name in item.fixturenames if name in made and name[0] != "_")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """With `--dist loadgroup`, one process runs all of a module's tests that share a fixture, so the fixture is made
    only once.

    pytest-xdist starts with the largest groups.
    """
    for item in items:
        if not item.get_closest_marker("xdist_group") and shares_a_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(item.config.rootpath).as_posix()))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collected tests live until the end, so the garbage collector need not examine them repeatedly."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "virtual_time": VirtualLoop,
    "uvloop": uvloop.new_event_loop,
}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Each asynchronous test has a fresh event loop: the loop that a marker names, or asyncio's loop."""
    marked = {marker: LOOPS[marker] for marker in LOOPS if item.get_closest_marker(marker)}
    return marked or {"asyncio": asyncio.new_event_loop}


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    """Removes the log handlers of an entry point that the test called. Their stream ends with the test."""
    root = logging.getLogger()
    level = root.level
    yield
    for handler in [handler for handler in root.handlers if isinstance(handler.formatter, JsonFormatter)]:
        root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture(scope="session")
def postgres() -> Iterator[TestServer]:
    """Runs the PostgreSQL server and the PgBouncer of this test process."""
    with running_test_server() as server:
        yield server


@pytest.fixture(scope="module")
def shared_database(postgres: TestServer) -> Iterator[Database]:
    """Yields a database for all tests of a module."""
    with postgres.database() as database:
        yield database


@pytest.fixture(scope="module")
def administration(shared_database: Database) -> Iterator[psycopg.Connection[Any]]:
    """Yields a superuser's connection to the module's database."""
    with psycopg.connect(shared_database.dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def database(postgres: TestServer, request: pytest.FixtureRequest) -> Iterator[Database]:
    """Yields a fresh, migrated database: .dsn (superuser), .api_dsn (service), .pooled_dsn (service, PgBouncer).

    With the marker `emptied`, yields the module's database without the rows of the previous tests.
    """
    if request.node.get_closest_marker("emptied"):
        delete_rows(request.getfixturevalue("administration"))
        yield request.getfixturevalue("shared_database")
        return
    with postgres.database() as database:
        yield database


@pytest.fixture
def empty_database(postgres: TestServer) -> Iterator[Database]:
    """Yields a fresh database without migrations."""
    with postgres.database(template="template0") as database:
        yield database


@pytest.fixture
def hour() -> Hour:
    """Returns occurrences of an hourly schedule: `hour()` is half an hour ago, and `hour(1)` is in half an hour.

    The schedule never fires during a test, at any time of day.
    """
    start = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=30)

    def occurrence(hours: int = 0) -> datetime:
        return start + timedelta(hours=hours)

    return occurrence
