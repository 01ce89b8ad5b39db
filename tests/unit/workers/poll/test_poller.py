"""When a process looks which mappings it polls for, in virtual time.

Which mapping gets a slot for an invocation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import pytest

from penstock.environment import Environment
from penstock.errors import ServiceUnavailable
from penstock.receipt_handle import ReceiptHandles
from penstock.settings import Settings
from penstock.workers.poll.invocation_slots import InvocationSlots
from penstock.workers.poll.poller import Poller, count_most_invocations
from penstock.workers.poll.service import PollService
from tests.support.web.virtual_clock import settle

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
    poller = Poller(environment, cast("PollService", database))
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


async def hold(
    slots: InvocationSlots, account_id: str, mapping: int, held: list[str], seconds: float
) -> None:
    async with slots.one(account_id, UUID(int=mapping)):
        held.append(account_id)
        await asyncio.sleep(seconds)
    held.remove(account_id)


async def test_an_account_leaves_places_to_others() -> None:
    slots, held = InvocationSlots(200), list[str]()
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(hold(slots, "a", n, held, 10)) for n in range(500)]
    await settle()
    assert len(held) == 160
    tasks += [loop.create_task(hold(slots, "b", 1000 + n, held, 10)) for n in range(500)]
    await settle()
    assert held.count("b") == 32
    await asyncio.gather(*tasks)
    assert held == []


async def test_one_place_is_enough_and_a_wait_can_be_cancelled() -> None:
    slots, held = InvocationSlots(1), list[str]()
    loop = asyncio.get_running_loop()
    first, second, third = [loop.create_task(hold(slots, name, 1, held, 10)) for name in "abc"]
    await settle()
    assert held == ["a"]
    second.cancel()
    first.cancel()
    await settle()
    assert held[1:] == ["c"]  # a was cancelled in its block
    third.cancel()
    await settle()
    fourth = loop.create_task(hold(slots, "d", 1, held, 10))
    await settle()
    assert held[-1] == "d"
    await fourth


async def test_a_place_that_is_given_in_the_moment_of_a_cancellation_is_not_lost() -> None:
    slots, held = InvocationSlots(1), list[str]()
    loop = asyncio.get_running_loop()
    first, second = [loop.create_task(hold(slots, name, 1, held, 1)) for name in "ab"]
    await settle()
    first.add_done_callback(lambda _: second.cancel())
    await asyncio.wait([first, second])
    await asyncio.wait_for(hold(slots, "c", 1, held, 1), 5)


@pytest.mark.parametrize(("memory_mb", "most"), [(None, 200), (256 - 128, 5), (0, 1), (10_240 - 128, 200)])
def test_a_function_has_as_many_as_its_memory_holds(memory_mb: int | None, most: int) -> None:
    """A batch may have 6 MB ("payload limit", Lambda quotas)."""
    assert count_most_invocations(memory_mb) == most
