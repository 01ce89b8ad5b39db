"""`penstock metrics report` shows the present state from stored minutes, without any run of the metrics job."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock.management.verdicts import QUEUES_A_PAGE
from penstock.verdicts import Minute
from penstock_web.cli import main
from tests.support.database import Database, TestServer
from tests.support.sql.metric_rows import insert, new_queue
from tests.support.sql.minute_rows import Connection, add_minutes, current_minute
from tests.support.web.console import barriers, of_class, pictures, table

MINUTE = timedelta(minutes=1)
OTHERS = QUEUES_A_PAGE
"""Adds idle queues, because the report must need more than one page of queues."""


@dataclass
class Service:
    """A database, and the minute that was not over when the rows were written."""

    database: Database
    now: datetime


def minutes(now: datetime, first: int, last: int = 1, **counts: Any) -> list[Minute]:
    """Returns minutes with equal counts, from `first` to `last` minutes ago."""
    known = {"sent": 300, "received": 300, "deleted": 300, "visible": 0, "in_flight": 5, "delayed": 0, **counts}
    return [Minute(now - ago * MINUTE, **known) for ago in range(first, last - 1, -1)]


def add(db: Connection, name: str, rows: list[Minute], oldest_at: datetime | None = None) -> None:
    """Adds a queue with these minutes. The last minute's counts are its present counts."""
    queue_id = new_queue(db, name)
    add_minutes(db, queue_id, rows)
    insert(
        db, "measurement", queue_id=queue_id, measured_at=rows[-1].starts_at + 1.5 * MINUTE, visible=rows[-1].visible,
        in_flight=rows[-1].in_flight, delayed=0, oldest_at=oldest_at, noisy_groups=0, dead_lettered=0,
    )  # fmt: skip


def fill(db: Connection, now: datetime) -> None:
    """Adds a queue for each verdict. The last receive of `stopped` was ten minutes ago."""
    stopped = minutes(now, 60, 11)
    for waits, ago in enumerate(range(10, 0, -1), start=1):
        stopped += minutes(
            now, ago, ago, received=0, deleted=0, visible=300 * waits, in_flight=0,
            last_received_at=now - 10 * MINUTE,
        )  # fmt: skip
    add(db, "stopped", stopped, now - 10 * MINUTE)
    draining = minutes(now, 60, 31)
    for ago in range(30, 0, -1):
        draining += minutes(now, ago, ago, received=500, deleted=500, visible=4000 + 200 * ago)
    add(db, "draining", draining)
    add(db, "keeps-up", minutes(now, 60))
    letters = minutes(now, 200, 200, received=0, deleted=0, sent=41, visible=41, in_flight=0)
    add(db, "letters", [*letters, letters[-1]._replace(starts_at=now - 10 * MINUTE, sent=0)], now - 200 * MINUTE)
    for number in range(OTHERS):
        new_queue(db, f"other-{number:03}")
    redrive = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:letters", "maxReceiveCount": 3}
    db.execute(
        "update queue.queues set attributes = attributes || jsonb_build_object('RedrivePolicy', %s::text) "
        "where name = 'keeps-up'",
        (json.dumps(redrive),),
    )


@pytest.fixture(scope="module")
def service(postgres: TestServer) -> Iterator[Service]:
    with postgres.database() as database:
        with psycopg.connect(database.api_dsn) as db:
            now = current_minute(db)
            fill(db, now)
        yield Service(database, now)


@pytest.fixture
def report(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.setenv("DATABASE_URL", service.database.api_dsn)

    def written(*options: str) -> str:
        file = tmp_path / "report.html"
        assert main(["metrics", "report", "--output", str(file), *options]) == 0
        return file.read_text()

    return written


def test_the_worst_first(report: Callable[..., str], service: Service) -> None:
    page = report()
    first, letters, second = table(page, "state")
    assert (first["Verdict"], first["Queue"], first["Why"]) == (
        "stalled", "stopped", "Messages wait and no consumer receives them.",
    )  # fmt: skip
    assert (first["Waiting"], first["In /s"], first["Empty at"]) == ("3,000", "5.00", "no receives")
    assert f"{service.now - 10 * MINUTE:%H:%M}" in first["Since"]
    assert "/docs/operate/waiting/#no-consumer-receives" in first["What to do"]
    assert (second["Verdict"], second["Queue"], second["Waiting"]) == ("draining", "draining", "4,200 5 in flight")
    assert re.fullmatch(r"(\d+ \w+ )?\d\d:\d\d (\d+ \w+ )?\d\d:\d\d to (\d+ \w+ )?\d\d:\d\d", second["Empty at"])
    assert (letters["Verdict"], letters["Queue"], letters["Waiting"]) == ("dead letters", "letters", "41")
    assert f"2 of {4 + OTHERS} queues need attention" in page
    assert barriers(page) == []


def test_healthy_queues(report: Callable[..., str]) -> None:
    page = report()
    assert f"Healthy queues: 1 keeps up, {OTHERS} are idle" in page


def test_the_last_hours(report: Callable[..., str]) -> None:
    shown = pictures(report())
    waiting = shown["Waiting in stopped: at most 3,000, 3,000 at the end"]
    assert len(of_class(waiting, "since")) == 1
    assert [name.partition(":")[0] for name in shown if "letters" not in name] == [
        "Waiting in stopped", "Arrived and done, each minute in stopped",
        "Waiting in draining", "Arrived and done, each minute in draining",
    ]  # fmt: skip


def test_no_job_is_one_line(report: Callable[..., str]) -> None:
    page = report()
    assert "The metrics job has not run: <code>penstock metrics run</code>" in page
    assert "All queues" not in page
    assert "by queue and hour" not in page


def test_a_healthy_queue_that_was_asked_for(report: Callable[..., str]) -> None:
    page = report("--queue", "keeps-up")
    (row,) = table(page, "state")
    assert (row["Verdict"], row["Why"], row["What to do"]) == ("ok", "Consumers keep up.", "")
    assert "stopped" not in page
    assert len(pictures(page)) == 1  # No message waits, so the chart does not draw the age.
