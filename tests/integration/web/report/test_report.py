"""Tests the history in the file that `penstock metrics report` writes, based on rows with known values."""

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock.management.verdicts import QUEUES_PER_PAGE
from penstock.verdicts import Minute
from penstock_web.cli import main
from tests.support.database import Database, TestServer
from tests.support.sql.metric_rows import (
    Connection,
    add_forecast,
    add_latency,
    add_minutes,
    add_run,
    add_window,
    current_minute,
    insert,
    new_queue,
)
from tests.support.web.console import barriers, of_class, pictures, table

START = datetime(2026, 3, 29, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
SPAN = ("--from", "2026-03-29T00:00:00Z", "--to", "2026-03-29T02:00:00Z")
# The id of a group contains ASCII punctuation, including every character that has a meaning in HTML.
GROUP = "</svg><script>alert('&\"')</script>"


@pytest.fixture(scope="module")
def database(postgres: TestServer) -> Iterator[Database]:
    """`orders` has two hours of minutes with a gap, `bills` has one minute, and `rests` has only a forecast."""
    with postgres.database() as database:
        with psycopg.connect(database.api_dsn) as db:
            orders = new_queue(db, "orders")
            bills, rests = new_queue(db, "bills"), new_queue(db, "rests")
            add_window(db, bills, START, arrivals=10, depth=10)
            add_window(db, bills, START, group_id="tenant-9", arrivals=10)
            add_forecast(db, rests, START + 2 * HOUR, arrival_rate=0, drain_rate=0, warnings="{}")
            for minute in (0, 1, 2, 60, 61):
                add_window(db, orders, START + minute * MINUTE, arrivals=10, depth=minute)
                add_window(db, orders, START + minute * MINUTE, group_id=GROUP, arrivals=4)
                add_window(db, orders, START + minute * MINUTE, group_id="tenant-1", arrivals=1)
                add_latency(db, orders, START + minute * MINUTE, [2_000, 3_000, 90_000_000])
            add_latency(db, orders, START + HOUR, [2_000_000, 90_000_000], seconds=3600)
            add_forecast(db, orders, START + 2 * HOUR)
            add_run(db, START + 2 * HOUR)
        yield database


@pytest.fixture
def settings(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database.api_dsn)


def report(folder: Path, *options: str) -> str:
    file = folder / "report.html"
    assert main(["metrics", "report", "--output", str(file), *options]) == 0
    assert [path.name for path in folder.iterdir()] == ["report.html"]
    return file.read_text()


@pytest.mark.usefixtures("settings")
def test_depth_and_lag_over_time(tmp_path: Path) -> None:
    page = report(tmp_path, *SPAN)
    shown = pictures(page)
    depth = shown["Depth of orders: at most 61, 61 at the end"]
    # No row covers the time in between, so no line crosses the gap.
    assert len(of_class(depth, "line")) == 2
    lag = shown["Lag of orders: from 3 ms to 1.5 min"]
    assert [len(of_class(lag, name)) for name in ("first", "second")] == [2, 2]
    assert "The data is old. The metrics job last ended 2026-03-29 02:00 UTC" in page
    # The chart of `bills` would be a single dot, so the report omits the chart.
    assert not [text for text in shown if "of bills" in text]


@pytest.mark.usefixtures("settings")
def test_lag_by_queue_and_hour(tmp_path: Path) -> None:
    heat = pictures(report(tmp_path, *SPAN))["Lag of orders by the hour: at most 1.5 min"]
    (cell,) = of_class(heat, "shade5")
    assert cell.findtext("title") == "orders, 2026-03-29 01:00: p95 1.5 min of 2 messages"
    assert not [name for n in (0, 1, 2, 3, 4, 6, 7) for name in of_class(heat, f"shade{n}")]


@pytest.mark.usefixtures("settings")
def test_groups_by_their_shares_of_their_queue(tmp_path: Path) -> None:
    page = report(tmp_path, *SPAN)
    captions = re.findall(r'<table class="groups"><caption><span [^>]*>(.*?)</span> (.*?)</caption>', page)
    assert captions == [("bills", "10 arrivals"), ("orders", "50 arrivals")]
    orders = table(page[page.index("50 arrivals") - 200 :], "groups")
    assert [[html.unescape(row["Group"]), row["Share"], row["Arrivals"]] for row in orders] == [
        [GROUP, "40 %", "20"],
        ["tenant-1", "10 %", "5"],
    ]
    assert re.findall(r'style="width:(.*?)"', page)[-2:] == ["40.0%", "10.0%"]


@pytest.mark.usefixtures("settings")
def test_the_table(tmp_path: Path) -> None:
    rows = [list(row.values()) for row in table(report(tmp_path, *SPAN), "all")]
    assert rows == [
        ["bills", "0", "0", "0", "-", "-", "-", "-", "", "-", "-", "-", "-"],
        ["orders Messages will expire in 2 d, before consumers receive them.", "0", "0", "0", "-", "1.50", "2.00",
         "0 (0 to 400) 80 % (held 79 %)", "(picture) same as a day before, mean error 12, or 30 without change", "-",
         "2 s", "1.5 min", "29 Mar 02:00"],
        ["rests", "0", "0", "0", "-", "0.00", "0.00", "-", "", "-", "-", "-", "29 Mar 02:00"],
    ]  # fmt: skip


@pytest.mark.usefixtures("settings")
def test_a_report_of_the_past_says_nothing_of_the_present(tmp_path: Path) -> None:
    page = report(tmp_path, *SPAN)
    assert "This report ends at 2026-03-29 02:00 UTC and omits the current state." in page
    assert table(page, "state") == []


@pytest.mark.usefixtures("settings")
def test_everybody_can_read_it(tmp_path: Path) -> None:
    assert barriers(report(tmp_path, *SPAN)) == []


@pytest.mark.usefixtures("settings")
def test_one_file_that_needs_nothing_else(tmp_path: Path) -> None:
    page = report(tmp_path, *SPAN)
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "prefers-color-scheme:dark" in re.sub(r"\s", "", page)


@pytest.mark.usefixtures("settings")
def test_one_queue(tmp_path: Path) -> None:
    page = report(tmp_path, *SPAN, "--queue", "bills")
    assert "orders" not in page
    assert "No queue has metrics for this time." in page
    assert [row["Group"] for row in table(page, "groups")] == ["tenant-9"]


@pytest.mark.usefixtures("settings")
def test_a_time_without_metrics(tmp_path: Path) -> None:
    page = report(tmp_path, "--from", "2020-01-01T00:00:00Z", "--to", "2023-01-01T00:00:00Z")
    assert "No queue has metrics for this time." in page


def test_a_report_without_queues_has_empty_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: TestServer
) -> None:
    with postgres.database() as empty:
        monkeypatch.setenv("DATABASE_URL", empty.api_dsn)
        page = report(tmp_path)
    assert "The metrics job has not run" in page
    assert "There are no queues." in page
    assert (table(page, "state"), table(page, "all"), barriers(page)) == ([], [], [])


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--queue", "none"], "there is no queue 'none'"),
        (["--queue", "no such\0name"], "there is no queue"),
        (["--from", "2026-03-30T00:00:00Z", "--to", "2026-03-29T00:00:00Z"], "--from must be before --to"),
        (["--from", "1990-01-01T00:00:00Z"], "at most 1440 days"),
        (["--output", "/nowhere/report.html"], "/nowhere/report.html"),
    ],
)
def test_a_failed_report_prints_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    kept = tmp_path / "report.html"
    kept.write_text("kept")
    assert main(["metrics", "report", "--output", str(kept), *options]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert (kept.read_text(), len(list(tmp_path.iterdir()))) == ("kept", 1)


@pytest.mark.usefixtures("settings")
def test_the_short_option_names_the_file(tmp_path: Path) -> None:
    """docs/reference/report.md describes the option."""
    file = tmp_path / "short.html"
    assert main(["metrics", "report", "-o", str(file)]) == 0
    assert file.read_text().startswith("<!doctype html>")


def test_without_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = ["metrics", "report", "--output", str(tmp_path / "report.html")]
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    assert main(out) == 1
    monkeypatch.delenv("DATABASE_URL")
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/proc/nowhere")  # The report must not use a service that runs on this machine.
    assert main(out) == 1
    with pytest.raises(SystemExit):
        main([*out, "--from", "yesterday"])
    assert list(tmp_path.iterdir()) == []


# --- state -----------------------------------------------------------------------------------------------------------
# `penstock metrics report` shows the current state from stored minutes, even if the metrics job has never run.

OTHERS = QUEUES_PER_PAGE
"""Adds idle queues, so that the report needs more than one page of queues."""


@dataclass
class Service:
    """Holds a database, and the minute that had not ended when the test wrote the rows."""

    database: Database
    now: datetime


def minutes(now: datetime, first: int, last: int = 1, **counts: Any) -> list[Minute]:
    """Returns minutes with equal counts, from `first` to `last` minutes ago."""
    known = {"sent": 300, "received": 300, "deleted": 300, "visible": 0, "in_flight": 5, "delayed": 0, **counts}
    return [Minute(now - ago * MINUTE, **known) for ago in range(first, last - 1, -1)]


def add(db: Connection, name: str, rows: list[Minute], oldest_at: datetime | None = None) -> None:
    """Adds a queue with the given minutes. The counts in the last minute are the current counts of the queue."""
    queue_id = new_queue(db, name)
    add_minutes(db, queue_id, rows)
    insert(
        db, "measurement", queue_id=queue_id, measured_at=rows[-1].starts_at + 1.5 * MINUTE, visible=rows[-1].visible,
        in_flight=rows[-1].in_flight, delayed=0, oldest_at=oldest_at, noisy_groups=0, dead_lettered=0,
    )  # fmt: skip


def fill(db: Connection, now: datetime) -> None:
    """Adds a queue with each verdict. The last receive of `stopped` was ten minutes ago."""
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
def report_now(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.setenv("DATABASE_URL", service.database.api_dsn)

    def written(*options: str) -> str:
        file = tmp_path / "report.html"
        assert main(["metrics", "report", "--output", str(file), *options]) == 0
        return file.read_text()

    return written


def test_the_worst_first(report_now: Callable[..., str], service: Service) -> None:
    page = report_now()
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


def test_healthy_queues(report_now: Callable[..., str]) -> None:
    page = report_now()
    assert f"Healthy queues: 1 keeps up, {OTHERS} are idle" in page


def test_the_last_hours(report_now: Callable[..., str]) -> None:
    shown = pictures(report_now())
    waiting = shown["Waiting in stopped: at most 3,000, 3,000 at the end"]
    assert len(of_class(waiting, "since")) == 1
    assert [name.partition(":")[0] for name in shown if "letters" not in name] == [
        "Waiting in stopped", "Arrived and done, each minute in stopped",
        "Waiting in draining", "Arrived and done, each minute in draining",
    ]  # fmt: skip


def test_no_job_is_one_line(report_now: Callable[..., str]) -> None:
    page = report_now()
    assert "The metrics job has not run yet. <code>penstock metrics run</code>" in page
    assert "All queues" not in page
    assert "by queue and hour" not in page


def test_a_healthy_queue_that_was_asked_for(report_now: Callable[..., str]) -> None:
    page = report_now("--queue", "keeps-up")
    (row,) = table(page, "state")
    assert (row["Verdict"], row["Why"], row["What to do"]) == ("ok", "Consumers keep up.", "")
    assert "stopped" not in page
    assert len(pictures(page)) == 1  # The queue is empty, so the report has no chart of the age.
