"""Receives of long messages wait for slow readers, but not for long. Source: our choice (decision 14)."""

import asyncio

import pytest

from penstock_web.batching.write_backpressure import (
    HIGH_WATER_BYTES,
    MAX_WAIT_SECONDS,
    STALLED_SECONDS,
    WriteBackpressure,
)
from tests.support.web.slow_client import SlowClient
from tests.support.web.virtual_clock import settle

pytestmark = pytest.mark.virtual_time

HALF = HIGH_WATER_BYTES // 2


@pytest.mark.parametrize(("sizes", "much"), [((), False), ((HALF, HALF), False), ((HALF, HALF, 1), True)])
async def test_much_is_more_than_8_mib_of_all(sizes: tuple[int, ...], much: bool) -> None:
    backpressure = WriteBackpressure()
    for size in sizes:
        backpressure.add(SlowClient(size))
    assert backpressure.is_high is much


async def test_an_answer_counts_until_it_is_read_for_the_most_part() -> None:
    """The transport keeps all of it as long."""
    backpressure, client = WriteBackpressure(), SlowClient(HIGH_WATER_BYTES + 1)
    backpressure.add(client)
    client.unread = 70_000
    assert backpressure.is_high
    backpressure.remove(client)
    assert not backpressure.is_high
    backpressure.remove(client)  # it left as well


async def test_nobody_waits_while_little_is_unread() -> None:
    backpressure = WriteBackpressure()
    backpressure.add(SlowClient(HIGH_WATER_BYTES))
    await backpressure.wait_until_low()
    assert asyncio.get_running_loop().time() == 0


async def test_all_go_on_when_enough_has_been_read() -> None:
    backpressure, clients = WriteBackpressure(), [SlowClient(HIGH_WATER_BYTES) for _ in range(3)]
    for client in clients:
        backpressure.add(client)
    waiting = [asyncio.create_task(backpressure.wait_until_low()) for _ in range(2)]
    await settle()
    backpressure.remove(clients[0])
    await settle()
    assert not any(task.done() for task in waiting)
    backpressure.remove(clients[1])
    await asyncio.gather(*waiting)
    assert asyncio.get_running_loop().time() == 0


async def test_a_slow_reader_keeps_nobody_from_receiving() -> None:
    backpressure = WriteBackpressure()
    backpressure.add(SlowClient(HIGH_WATER_BYTES + 1))
    await backpressure.wait_until_low()
    assert asyncio.get_running_loop().time() == MAX_WAIT_SECONDS


async def test_who_reads_nothing_is_hung_up_on() -> None:
    """After a minute without a byte; a client that reads one in a minute goes on."""
    backpressure, client = WriteBackpressure(), SlowClient(1000)
    backpressure.add(client)
    await asyncio.sleep(STALLED_SECONDS - 1)
    client.unread -= 1
    await asyncio.sleep(STALLED_SECONDS)
    assert not client.aborted
    await asyncio.sleep(1)
    assert client.aborted


async def test_who_has_read_is_not_hung_up_on() -> None:
    backpressure, client = WriteBackpressure(), SlowClient(1000)
    backpressure.add(client)
    backpressure.remove(client)
    await asyncio.sleep(2 * STALLED_SECONDS)
    assert not client.aborted
