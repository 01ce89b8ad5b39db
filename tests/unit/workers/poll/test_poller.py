"""When a process looks which mappings it polls for, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from penstock.environment import Environment
from penstock.errors import ServiceUnavailable
from penstock.receipt_handle import ReceiptHandles
from penstock.settings import Settings
from penstock.workers.poll.poller import Poller
from penstock.workers.poll.service import Service

pytestmark = pytest.mark.virtual_time


class Database:
    """Has no mappings. `looks`: when it was asked. `away_until`: it cannot be reached before."""

    claim_seconds = idle_seconds = 60.0

    def __init__(self, away_until: float) -> None:
        self.away_until = away_until
        self.looks: list[float] = []

    async def call(self, _: Any, __: Sequence[object]) -> list[Any]:
        now = asyncio.get_running_loop().time()
        self.looks.append(now)
        if now < self.away_until:
            raise ServiceUnavailable
        return []


async def looks(away_until: float, seconds: float) -> list[float]:
    database = Database(away_until)
    settings = Settings.read({})
    environment = Environment(settings, ReceiptHandles(bytes(32)))
    poller = Poller(environment, cast("Service", database))
    await asyncio.sleep(seconds)
    found = list(database.looks)
    await poller.close(0)
    return found


async def test_a_look_that_failed_is_repeated_soon() -> None:
    """No process polls for a mapping that has changed meanwhile."""
    first, *again = await looks(away_until=12, seconds=100)
    assert [at - first for at in again] == [5, 10, 15, 75]


async def test_otherwise_it_looks_seldom() -> None:
    first, *again = await looks(away_until=0, seconds=100)
    assert [at - first for at in again] == [60]
