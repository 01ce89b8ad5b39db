"""Runs the programs in examples/ against a service from `make run`, and checks their output and the database's final
state."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.support.clients.service_client import client, counts
from tests.support.programs.penstock_up import Up, running

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
EMPTY = ["0", "0", "0"]
NAMES = ("fan_out", "fifo", "producer_and_worker", "schedule", "transaction", "webhook")

Program = subprocess.CompletedProcess[str]

pytestmark = pytest.mark.xdist_group("examples")


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    with running("--ephemeral") as up:
        yield up


@pytest.fixture(scope="module")
def programs(up: Up) -> dict[str, Program]:
    """Returns each example's result. The examples run in parallel, because they spend most of their time waiting."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(NAMES, pool.map(lambda name: run(up, name), NAMES), strict=True))


def run(up: Up, name: str) -> Program:
    return subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")],
        env={**os.environ, "AWS_ENDPOINT_URL": up.address, "DATABASE_URL": up.dsn},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def printed(program: Program) -> list[str]:
    """Returns a program's output lines. The program must succeed without warnings."""
    assert (program.returncode, program.stderr) == (0, "")
    return program.stdout.splitlines()


def test_producer_and_worker(up: Up, programs: dict[str, Program]) -> None:
    lines = printed(programs["producer_and_worker"])
    assert "the producer sent 10 orders" in lines
    for number in range(1, 11):
        times = 2 if number == 3 else 1
        assert f"the worker handled order {number}, received {times} time(s)" in lines
    assert "the worker failed on order 3: the card service does not respond" in lines
    assert lines[-1] == "the worker handled every order"
    assert counts(up, "example-orders") == EMPTY


def test_the_fifo_example_prints_the_same_in_a_second_run(up: Up, programs: dict[str, Program]) -> None:
    """A second run prints the same output, because the deduplication from the first run does not drop its messages."""
    for program in (programs["fifo"], run(up, "fifo")):
        assert printed(program) == [
            "sent 5 events, each of them twice",
            "alice: opened, paid in 50, paid out 20",
            "bob: opened, closed",
        ]
    assert counts(up, "example-accounts.fifo") == EMPTY


def test_fan_out(up: Up, programs: dict[str, Program]) -> None:
    assert printed(programs["fan_out"]) == [
        "published: sale of 20",
        "published: sale of 5000",
        "billing received: sale of 20, sale of 5000",
        "fraud received: sale of 5000",
    ]
    with client("sns", up) as sns:
        (topic,) = (
            row["TopicArn"] for row in sns.list_topics()["Topics"] if row["TopicArn"].endswith(":example-sales")
        )
        subscribed = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    names = {row["Endpoint"].rpartition(":")[2] for row in subscribed}
    assert names == {"example-billing", "example-fraud"}
    assert [counts(up, name) for name in sorted(names)] == [EMPTY, EMPTY]


def test_the_webhook_example_receives_a_signed_message(up: Up, programs: dict[str, Program]) -> None:
    confirmed, received = printed(programs["webhook"])
    subscription = confirmed.removeprefix("confirmed ")
    assert received == "received, with a valid signature: it works"
    topic = subscription.rpartition(":")[0]
    with client("sns", up) as sns:
        assert topic.endswith(":example-webhook")
        assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []


def test_the_schedule_example_receives_its_report(up: Up, programs: dict[str, Program]) -> None:
    scheduled, received = printed(programs["schedule"])
    assert scheduled.removeprefix("scheduled: ") == received.removeprefix("received: ")
    assert re.fullmatch(r"received: report of \d\d:\d\d:\d\d", received)
    with client("scheduler", up) as scheduler:
        assert scheduler.list_schedules(NamePrefix="example-report")["Schedules"] == []
    assert counts(up, "example-reports") == EMPTY


def test_the_transaction_example_ships_only_the_committed_order(up: Up, programs: dict[str, Program]) -> None:
    assert printed(programs["transaction"]) == [
        "committed the order of a lamp, and its message",
        "rolled back: there is no chair",
        "shipped: lamp",
    ]
    with psycopg.connect(up.dsn) as connection:
        orders = connection.execute("select item, state from example_order").fetchall()
    assert orders == [("lamp", "shipped")]
    assert counts(up, "example-shipping") == EMPTY


def test_every_example_is_in_the_readme_and_is_run_here() -> None:
    examples = sorted(path.stem for path in EXAMPLES.glob("*.py"))
    listed = re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\)", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert examples == sorted(listed) == sorted(NAMES)
    tests = [name for name in globals() if name.startswith("test_")]
    assert [name for name in NAMES if not any(name in test for test in tests)] == []
