"""Runs `make chaos` for a few seconds (docs/explain/reliability.md), without root.

`make test` leaves it out, because CI ends with a minute of `make chaos`.
"""

from __future__ import annotations

import random

import pytest

from tests.support.chaos.campaign import play
from tests.support.chaos.faults import QUICK
from tests.support.chaos.servers import running_servers

pytestmark = pytest.mark.slow

NAMES = ("kill_service", "kill_database", "kill_backend", "swallow_connections", "halve_answers")


def test_nothing_is_lost() -> None:
    faults = [fault for fault in QUICK if fault.name in NAMES]
    with running_servers(QUEUE_DATABASE_CALL_TIMEOUT_MS="1000") as servers:
        report = play(servers, faults, random.Random(1), 600, patient=False)
    assert (report.violations, report.errors) == ({}, [])
    assert sum(report.faults.values()) == len(NAMES)
    assert report.acknowledged > 100
