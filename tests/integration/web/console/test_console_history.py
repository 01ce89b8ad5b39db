"""A queue's 30 days on its page: the figures that the metrics job stored, and the text where it stored nothing."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.database import Database, TestServer
from tests.support.programs.penstock_service import running_service
from tests.support.web.console_client import ConsoleClient

pytestmark = pytest.mark.xdist_group("console")

HOUR = """
insert into queue.metrics_window (window_seconds, queue_id, starts_at, ends_at, arrivals, deliveries, redeliveries,
    deletions, dead_lettered, purged, expired, moved, depth, waiting, received, oldest_age_us)
select 3600, queue_id, date_trunc('hour', now()) - %(ago)s * interval '1 hour',
    date_trunc('hour', now()) - (%(ago)s - 1) * interval '1 hour', %(arrivals)s, 5, 0, 3, 1, 0, 0, 0, %(depth)s, 4, 5,
    %(age)s
from queue.queues
"""
LAG = """
insert into queue.metrics_latency (window_seconds, queue_id, measure, starts_at, ends_at, count, sum_us, p50_us, p90_us,
    p95_us, p99_us, max_us, sketch_buckets, sketch_counts)
select 3600, queue_id, 'lag', date_trunc('hour', now()) - %(ago)s * interval '1 hour', now(), 3, 3000000, 2000000,
    3000000, 3000000, 3000000, 3000000, '{1}', '{3}'
from queue.queues
"""


class History:
    """The page of the queue `orders`, and what the job stored of it."""

    def __init__(self, database: Database, browser: ConsoleClient) -> None:
        self.database = database
        self.browser = browser

    def page(self) -> str:
        response = self.browser.get("/console/queues/orders?span=30d")
        assert response.status_code == 200, response.text
        return response.text

    def execute(self, statement: str, **values: int | None) -> None:
        with psycopg.connect(self.database.dsn) as connection:
            connection.execute(statement.encode(), values)

    def job_ran(self) -> None:
        self.execute("insert into queue.metrics_run (mode, finished_at) values ('once', now())")

    def hour(self, ago: int, arrivals: int, depth: int, age: int | None) -> None:
        self.execute(HOUR, ago=ago, arrivals=arrivals, depth=depth, age=age)


@pytest.fixture
def history(postgres: TestServer) -> Iterator[History]:
    with postgres.database() as database, running_service(database.api_dsn, QUEUE_CONSOLE="full") as service:
        browser = ConsoleClient(service)
        browser.http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
        yield History(database, browser)


def test_no_metrics_job_has_run(history: History) -> None:
    page = history.page()
    assert "No metrics job has run" in page
    assert "<figure>" not in page


def test_a_run_that_failed_is_none(history: History) -> None:
    history.execute("insert into queue.metrics_run (mode, finished_at, error) values ('once', now(), 'x')")
    assert "No metrics job has run" in history.page()


def test_a_queue_of_which_nothing_is_stored(history: History) -> None:
    history.job_ran()
    page = history.page()
    assert "stored no hour of this queue" in page
    assert "<figure>" not in page


def test_a_queue_without_history_says_so(history: History) -> None:
    history.execute("""update queue.queues set attributes = attributes || '{"history": "false"}'""")
    assert "keeps no history" in history.page()


def test_charts_of_what_is_stored(history: History) -> None:
    history.job_ran()
    history.hour(1, 7, 12, 5_000_000)
    history.hour(2, 9, 15, 9_000_000)
    history.execute(LAG, ago=2)
    page = history.page()
    assert "Messages in the queue, each hour: at most 15, 12 at the end" in page
    assert "Messages an hour: at most 9, 7 and 4 at the end" in page
    assert "Age of the oldest message: from 5 s to 9 s" in page
    assert "From sending to deletion: from 2 s to 3 s" in page


def test_what_is_not_known_is_not_drawn(history: History) -> None:
    history.job_ran()
    history.hour(1, 7, 0, None)
    history.hour(2, 7, 0, None)
    history.hour(800, 7, 99, 1)
    page = history.page()
    assert "at most 0, 0 at the end" in page, (
        "older than 30 days is left out; an hour that was stored as empty is 0"
    )
    assert "Age of the oldest message:" not in page
    assert "From sending to deletion" not in page


def test_hours_that_were_not_stored_are_a_gap(history: History) -> None:
    history.job_ran()
    for ago in (2, 3, 10, 11):
        history.hour(ago, 1, 1, 1_000_000)
    depth = history.page().partition("each hour: at most")[2].partition("</svg>")[0]
    assert depth.count('class="line first"') == 2
