"""What was acknowledged survives kill -9 of the service and of PostgreSQL, and nothing else comes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from penstock_web.local.state import ephemeral_state
from tests.support.crash.installation import Installation
from tests.support.crash.traffic import Traffic
from tests.support.database import memory_directory

Disaster = Literal["service", "database", "everything"]


@dataclass(frozen=True)
class Plan:
    """Each disaster strikes when so many more messages have been sent, and deleted, since the last one."""

    disasters: tuple[Disaster, ...]
    messages: int
    producers: int = 4
    consumers: int = 4
    fifo: bool = False


@pytest.fixture
def state() -> Iterator[Path]:
    """A data folder for one test."""
    with ephemeral_state(memory_directory()) as path:
        yield path


def strike(disaster: Disaster, installation: Installation, traffic: Traffic) -> None:
    """Kill and restart. `everything` is what happens when a machine stops.

    Receives of a standard queue do not wait for the disk (docs/how_it_works.md, "What is promised").
    """
    traffic.open.clear()
    if disaster != "service":
        installation.kill_database()
        if not traffic.fifo:
            traffic.ledger.forgotten()
    if disaster == "database":
        installation.check_it_says_unavailable(traffic.url)
        installation.restart_database()
    else:
        installation.kill_service()
        installation.restart_service()
    traffic.open.set()


def survive(plan: Plan, state: Path) -> Traffic:
    """Runs the plan to its end; the queue is empty afterwards."""
    with ExitStack() as stack:
        installation = Installation(state, stack)
        traffic = Traffic(installation.port, plan.fifo)
        traffic.create_queue()
        with traffic.actors(plan.producers, plan.consumers):
            for disaster in plan.disasters:
                progress(traffic, plan.messages)
                begun = time.monotonic()
                strike(disaster, installation, traffic)
                progress(traffic, 1)
                print(f"{disaster}: works again after {time.monotonic() - begun:.1f} s")  # noqa: T201
            progress(traffic, plan.messages)
    return traffic


def progress(traffic: Traffic, messages: int) -> None:
    """Returns when so many more were sent and so many more deleted, all acknowledged."""
    sent, deleted = (traffic.tally[what] + messages for what in ("sent", "deleted"))
    traffic.wait_for(lambda tally: tally["sent"] >= sent and tally["deleted"] >= deleted)


def check(traffic: Traffic) -> None:
    """Nothing lost, invented, risen from the dead, handed out twice at a time or in disorder."""
    findings = traffic.ledger.findings()
    print(findings, dict(traffic.tally), sep="\n")  # noqa: T201
    assert traffic.errors == []
    assert findings.violations == {}
    assert findings.sent == traffic.tally["sent"]


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(Plan(("service", "database"), 300), id="standard"),
        pytest.param(Plan(("everything",), 100, fifo=True), id="fifo"),
    ],
)
def test_what_was_acknowledged_survives(state: Path, plan: Plan) -> None:
    check(survive(plan, state))


ROUNDS: tuple[Disaster, ...] = ("service", "database", "everything") * 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(Plan(ROUNDS, 5000, 8, 8), id="standard"),
        pytest.param(Plan(ROUNDS, 1000, 8, 8, fifo=True), id="fifo"),
    ],
)
def test_what_was_acknowledged_survives_many_rounds(state: Path, plan: Plan) -> None:
    check(survive(plan, state))
