"""The page of the installation: the server, migrations, the pool, and what the role cannot see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from tests.support.database import Database, TestServer
from tests.support.programs.penstock_service import running_service
from tests.support.wait import wait_until
from tests.support.web.report_page import ConsoleClient

pytestmark = pytest.mark.xdist_group("console")


class System:
    """The page, and its database."""

    def __init__(self, database: Database, browser: ConsoleClient) -> None:
        self.database = database
        self.browser = browser

    def page(self) -> str:
        response = self.browser.get("/console/system")
        assert response.status_code == 200, response.text
        return response.text

    def section(self, name: str) -> str:
        return self.page().partition(f'<section aria-labelledby="{name}"')[2].partition("</section>")[0]


@pytest.fixture
def system(postgres: TestServer) -> Iterator[System]:
    with postgres.database() as database, running_service(database.api_dsn, QUEUE_CONSOLE="full") as service:
        yield System(database, ConsoleClient(service))


def test_migrations_that_are_applied(system: System) -> None:
    assert "all applied" in system.section("migrations")


def test_migrations_that_are_missing_or_newer(system: System) -> None:
    with psycopg.connect(system.database.dsn, autocommit=True) as connection:
        last = connection.execute(
            "delete from queue.migration where number = (select max(number) from queue.migration) returning name"
        ).fetchone()
        assert last is not None
        missing = system.section("migrations")
        assert "1 missing" in missing
        assert last[0].removesuffix(".sql") in missing
        connection.execute(
            "insert into queue.migration (number, name, checksum) select max(number) + 1, %s, '' from queue.migration",
            (last[0],),
        )
        connection.execute(
            "insert into queue.migration (number, name, checksum) values (9000, '9000_later.sql', '')"
        )
    wait_until(lambda: "of a later release" in system.section("migrations"))


def test_the_pool_of_the_process(system: System) -> None:
    pool = system.section("pool")
    assert all(
        f"<dt>{label}</dt>" in pool
        for label in ("open", "in use", "calls that wait for a connection", "at most")
    )


def test_an_old_snapshot_is_shown(system: System) -> None:
    """Of a session of the service's own role, which it sees without further rights."""
    none = "<dt>oldest snapshot</dt><dd>none</dd>"
    wait_until(lambda: none in system.section("database"))  # a worker may have one for a moment
    with closing(psycopg.connect(system.database.api_dsn)) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("select count(*) from queue.queues")
        wait_until(lambda: none not in system.section("database"))


def test_what_the_role_cannot_see_is_said(system: System) -> None:
    database = system.section("database")
    assert "does not see sessions of other roles" in database
    assert "nor how large the write-ahead log is" in database
    assert "not known" in database.partition("WAL on disk")[2].partition("</div>")[0]


def test_with_pg_monitor_all_is_seen(system: System) -> None:
    with psycopg.connect(system.database.dsn, autocommit=True) as connection:
        name = Identifier(str(conninfo_to_dict(system.database.api_dsn)["user"]))
        connection.execute(SQL("grant pg_monitor to {}").format(name))
        try:
            wait_until(lambda: "does not see" not in system.section("database"))
            assert " MiB" in system.section("database").partition("WAL on disk")[2].partition("</div>")[0]
        finally:
            connection.execute(SQL("revoke pg_monitor from {}").format(name))
