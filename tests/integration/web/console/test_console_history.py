"""A queue's page shows the metrics job's figures for 30 days, or a text if the job has stored no figures.

The calendar shows the schedules that fire within seven days, are late, or were missed.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from tests.support.database import Database, TestServer
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until
from tests.support.web.console import ConsoleClient

pytestmark = pytest.mark.xdist_group("console")

# A page shows a change at once, although another test has read the same page.
READS_AGAIN = {"penstock_web.console.readings.MAX_SECONDS": 0.0}

_numbers = count(1)


class Console(NamedTuple):
    """Holds the console of an installation that fires no schedules, and the database."""

    database: Database
    service: Service


@pytest.fixture(scope="module")
def console(postgres: TestServer) -> Iterator[Console]:
    """Runs the service that most tests of the module share."""
    settings = {"QUEUE_CONSOLE": "full", "QUEUE_SCHEDULE_ENABLED": "false"}
    with (
        postgres.database() as database,
        running_service(database.api_dsn, constants=READS_AGAIN, **settings) as service,
    ):
        yield Console(database, service)


HOUR = """
insert into queue.metrics_window (window_seconds, queue_id, starts_at, ends_at, arrivals, deliveries, redeliveries,
    deletions, dead_lettered, purged, expired, moved, depth, waiting, received, oldest_age_us)
select 3600, queue_id, date_trunc('hour', now()) - %(ago)s * interval '1 hour',
    date_trunc('hour', now()) - (%(ago)s - 1) * interval '1 hour', %(arrivals)s, 5, 0, 3, 1, 0, 0, 0, %(depth)s, 4, 5,
    %(age)s
from queue.queues where name = %(name)s
"""
LAG = """
insert into queue.metrics_latency (window_seconds, queue_id, measure, starts_at, ends_at, count, sum_us, p50_us, p90_us,
    p95_us, p99_us, max_us, sketch_buckets, sketch_counts)
select 3600, queue_id, 'lag', date_trunc('hour', now()) - %(ago)s * interval '1 hour', now(), 3, 3000000, 2000000,
    3000000, 3000000, 3000000, 3000000, '{1}', '{3}'
from queue.queues where name = %(name)s
"""


class History:
    """Provides the page of a new queue, and the rows that the job stored for the queue."""

    def __init__(self, database: Database, browser: ConsoleClient) -> None:
        self.database = database
        self.browser = browser
        self.name = f"orders-{next(_numbers)}"
        browser.http.post("/v1/queues", json={"name": self.name}).raise_for_status()

    def page(self) -> str:
        response = self.browser.get(f"/console/queues/{self.name}?span=30d")
        assert response.status_code == 200, response.text
        return response.text

    def execute(self, statement: str, **values: int | None) -> None:
        """Executes a statement, in which `name` is the name of the queue."""
        with psycopg.connect(self.database.dsn) as connection:
            connection.execute(statement.encode(), {"name": self.name, **values})

    def job_ran(self) -> None:
        self.execute("insert into queue.metrics_run (mode, finished_at) values ('once', now())")

    def hour(self, ago: int, arrivals: int, depth: int, age: int | None) -> None:
        self.execute(HOUR, ago=ago, arrivals=arrivals, depth=depth, age=age)


@pytest.fixture
def history(console: Console) -> History:
    """Returns a new queue. The metrics job has not run."""
    history = History(console.database, ConsoleClient(console.service))
    history.execute("delete from queue.metrics_run")
    return history


def test_no_metrics_job_has_run(history: History) -> None:
    page = history.page()
    assert "The metrics job has not run" in page
    assert "<figure>" not in page


def test_a_run_that_failed_is_none(history: History) -> None:
    history.execute("insert into queue.metrics_run (mode, finished_at, error) values ('once', now(), 'x')")
    assert "The metrics job has not run" in history.page()


def test_a_queue_of_which_nothing_is_stored(history: History) -> None:
    history.job_ran()
    page = history.page()
    assert "stored any data about this queue" in page
    assert "<figure>" not in page


def test_a_queue_without_history_says_so(history: History) -> None:
    history.execute(
        """update queue.queues set attributes = attributes || '{"history": "false"}' where name = %(name)s"""
    )
    assert "does not record history" in history.page()


def test_charts_of_what_is_stored(history: History) -> None:
    history.job_ran()
    history.hour(1, 7, 12, 5_000_000)
    history.hour(2, 9, 15, 9_000_000)
    history.execute(LAG, ago=2)
    page = history.page()
    assert "Messages in the queue, each hour: at most 15, 12 at the end" in page
    assert "Messages an hour: at most 9, 7 and 4 at the end" in page
    assert "Age of the oldest message: from 5 s to 9 s" in page
    assert "UTC: median 2 s, 99 % 3 s. The chart begins with the second value." in page


def test_an_unknown_value_is_not_drawn(history: History) -> None:
    history.job_ran()
    history.hour(1, 7, 0, None)
    history.hour(2, 7, 0, None)
    history.hour(800, 7, 99, 1)
    page = history.page()
    assert "at most 0, 0 at the end" in page, "older than 30 days is left out; an hour that was stored as empty is 0"
    assert "Age of the oldest message:" not in page
    assert "From sending to deletion" not in page


def test_hours_that_were_not_stored_are_a_gap(history: History) -> None:
    history.job_ran()
    for ago in (2, 3, 10, 11):
        history.hour(ago, 1, 1, 1_000_000)
    depth = history.page().partition("each hour: at most")[2].partition("</svg>")[0]
    assert depth.count('class="line first"') == 2


NOON = (datetime.now(UTC) + timedelta(days=1)).replace(hour=12, minute=0, second=0, microsecond=0)
"""Of tomorrow."""


class Calendar:
    """Provides the schedules page of an installation that fires no schedules, and the table of schedules."""

    def __init__(self, database: Database, browser: ConsoleClient) -> None:
        self.database = database
        self.browser = browser

    def page(self) -> str:
        response = self.browser.get("/console/schedules?view=calendar")
        assert response.status_code == 200, response.text
        return response.text

    def schedule(self, name: str, cron: str, at: datetime, number: int = 1, **columns: Any) -> None:
        """Inserts schedules by SQL, because the REST API cannot create late schedules. Each schedule's name contains
        the number.
        """
        with psycopg.connect(self.database.dsn) as connection:
            connection.execute(
                """
                insert into queue.schedule (account_id, region, name, api, expression_kind,
                    expression, canonical, timezone,
                    target, next_fire_at, due_at, status)
                select '000000000000', 'us-east-1',
                    %(name)s || case when %(number)s > 1 then lpad(n::text, 5, '0') else '' end, 'rest', 'cron',
                    %(cron)s, %(cron)s, 'UTC', '{"queue": "q", "message": {}}', %(at)s, %(at)s, %(status)s
                from generate_series(1, %(number)s) n
                """,
                {"name": name, "cron": cron, "at": at, "number": number} | {"status": "active"} | columns,
            )

    def run(self, name: str, error: str) -> None:
        """Inserts an occurrence that was due an hour ago and did not fire."""
        with psycopg.connect(self.database.dsn) as connection:
            connection.execute(
                "insert into queue.schedule_run (schedule_id, scheduled_for, error)"
                " select schedule_id, now() - interval '1 hour', %s from queue.schedule where name = %s",
                (error, name),
            )


@pytest.fixture
def calendar(console: Console) -> Calendar:
    """Returns a calendar without schedules."""
    with psycopg.connect(console.database.dsn) as connection:
        connection.execute("delete from queue.schedule")
    return Calendar(console.database, ConsoleClient(console.service))


def days(page: str) -> list[str]:
    """Returns the days of the calendar as HTML."""
    return page.partition('<ol class="days">')[2].partition("</ol>")[0].split("<h3>")[1:]


def test_an_empty_calendar_has_seven_days_on_which_nothing_fires(calendar: Calendar) -> None:
    page = calendar.page()
    assert len(days(page)) == 7
    assert all("nothing" in day for day in days(page))
    assert "No schedule is late" in page
    assert "there are no missed times" in page


def test_a_schedule_is_on_each_day_that_it_fires(calendar: Calendar) -> None:
    calendar.schedule("daily", "0 12 * * *", NOON)
    calendar.schedule("once-a-week", f"30 9 * * {(NOON + timedelta(days=2)).isoweekday() % 7}",
                      (NOON + timedelta(days=2)).replace(hour=9, minute=30))  # fmt: skip
    calendar.schedule("asleep", "0 12 * * *", NOON, status="paused")
    shown = days(calendar.page())
    assert ["daily" in day for day in shown][1:] == [True] * 6
    assert ["once-a-week" in day for day in shown].index(True) == 3
    assert sum("once-a-week" in day for day in shown) == 1
    assert "asleep" not in "".join(shown)
    assert ">12:00</time>" in shown[1]


def test_a_schedule_of_each_minute_is_one_line(calendar: Calendar) -> None:
    calendar.schedule("heartbeat", "* * * * *", datetime.now(UTC) + timedelta(seconds=50))
    page = calendar.page()
    assert page.count('href="/console/schedules/heartbeat"') == 1
    assert "Every minute" in page
    assert all("heartbeat" not in day for day in days(page))


def test_ten_thousand_that_fire_together_are_one_line_a_day(calendar: Calendar) -> None:
    calendar.schedule("s", "0 12 * * *", NOON, 10_050)
    page = calendar.page()
    assert "and 9,997 others" in days(page)[1]
    assert "covers only the 10,000 schedules that fire next" in page


def test_more_times_of_a_day_than_it_has_room_for_are_counted(calendar: Calendar) -> None:
    for minute in range(15):
        calendar.schedule(f"m{minute}", f"{minute} 12 * * *", NOON + timedelta(minutes=minute))
    assert "and 3 further times" in days(calendar.page())[1]


def test_late_and_missed_occurrences_are_shown(calendar: Calendar) -> None:
    calendar.schedule("late", "0 12 * * *", NOON - timedelta(days=3))
    calendar.run("late", "there is no queue <x>")
    page = calendar.page()
    assert '<span class="badge bad">1 late</span>' in page
    assert '<span class="badge warn">due</span>' in days(page)[0]
    assert "there is no queue &lt;x&gt;" in page
    listed = calendar.browser.get("/console/schedules").text
    assert '<span class="badge bad">late</span>' in listed
    assert "due for" in listed
    found = calendar.browser.http.get("/v1/schedules").json()
    assert json.dumps(found).count('"late"') == 1


# --- console system --------------------------------------------------------------------------------------------------
# Tests that the system page shows the server, the migrations and the pool, and lists the facts that the role cannot
# see.


class System:
    """Holds the page and its database."""

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
def system(console: Console) -> System:
    return System(console.database, ConsoleClient(console.service))


def test_migrations_that_are_applied(system: System) -> None:
    assert "all applied" in system.section("migrations")


def test_migrations_that_are_missing_or_newer(database: Database) -> None:
    with (
        running_service(database.api_dsn, QUEUE_CONSOLE="full") as service,
        psycopg.connect(database.dsn, autocommit=True) as connection,
    ):
        system = System(database, ConsoleClient(service))
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
        connection.execute("insert into queue.migration (number, name, checksum) values (9000, '9000_later.sql', '')")
        wait_until(lambda: "of a newer release" in system.section("migrations"))


def test_the_pool_of_the_process(system: System) -> None:
    pool = system.section("pool")
    assert all(f"<dt>{label}</dt>" in pool for label in ("open", "in use", "calls waiting for a connection", "at most"))


def test_an_old_snapshot_is_shown(system: System) -> None:
    """The session belongs to the role of the service, so the role can see the session without further rights."""
    none = "<dt>oldest snapshot</dt><dd>none</dd>"
    # A worker can use a connection for a moment.
    wait_until(lambda: none in system.section("database"))
    with closing(psycopg.connect(system.database.api_dsn)) as connection:
        connection.execute("select pg_current_xact_id()")  # a transaction id, and no snapshot between statements
        wait_until(lambda: none not in system.section("database"))
        connection.rollback()
        wait_until(lambda: none in system.section("database"))
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("select count(*) from queue.queues")
        wait_until(lambda: none not in system.section("database"))


def test_the_page_names_figures_that_the_role_cannot_read(system: System) -> None:
    database = system.section("database")
    assert "does not see sessions of other roles" in database
    assert "or the write-ahead log&#39;s size" in database
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
