"""Tests the time limits of a request, in virtual time. Sources: docs/reference/settings.md; docs/reference/errors.md.

Also tests the end of a connection whose client is still sending, in virtual time.

Also tests that receives of long messages wait for slow readers for a limited time. The limits are Penstock's choice
(decision 14).
"""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from penstock_web.batching.write_backpressure import (
    HIGH_WATER_BYTES,
    MAX_WAIT_SECONDS,
    STALLED_SECONDS,
    WriteBackpressure,
)
from penstock_web.http.flow_control import LingeringClose
from penstock_web.http.limits import HttpLimits
from penstock_web.runtime.deadlines import SWEEP_SECONDS, AsgiTask, Deadlines, EndReason
from tests.support.web.http_connection import SlowClient, Transport
from tests.support.web.virtual_clock import VirtualLoop, settle

pytestmark = pytest.mark.virtual_time


class Client:
    """A client that sends nothing more, and leaves on the test's signal."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}


async def request_that_waits(deadlines: Deadlines, client: Client, wait_seconds: float, seconds: float) -> AsgiTask:
    """Sends a request that first waits (which does not count) and then works (which counts)."""
    request = deadlines.start_request(client.receive)
    try:
        request.pause()
        await asyncio.sleep(wait_seconds)
        request.resume()
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        assert request.end_reason is not None
    finally:
        request.close()
    return request


@pytest.mark.parametrize(
    ("wait_seconds", "seconds", "end_reason", "at"),
    [
        (0, 29, None, 29.0),
        (0, 31, EndReason.TIMED_OUT, 30.0),
        (300, 29, None, 329.0),
        (300, 31, EndReason.TIMED_OUT, 330.0),
    ],
)
async def test_a_request_ends_after_its_time_and_a_wait_does_not_count(
    wait_seconds: float, seconds: float, end_reason: EndReason | None, at: float
) -> None:
    request = await request_that_waits(Deadlines(30), Client(), wait_seconds, seconds)
    assert request.end_reason is end_reason
    assert at <= asyncio.get_running_loop().time() <= at + SWEEP_SECONDS


@pytest.mark.parametrize(("stopped_seconds", "end_seconds"), [(0.9, 30.0), (20.0, 50.0)])
async def test_the_time_for_which_the_process_was_stopped_does_not_count(
    stopped_seconds: float, end_seconds: float
) -> None:
    request = asyncio.create_task(request_that_waits(Deadlines(30), Client(), 0, 60))
    await asyncio.sleep(10)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.stop_process(stopped_seconds)
    assert (await request).end_reason is EndReason.TIMED_OUT
    assert loop.time() == pytest.approx(end_seconds, abs=SWEEP_SECONDS)


async def test_a_client_that_leaves_during_a_wait_ends_the_request() -> None:
    client = Client()
    request = asyncio.get_running_loop().create_task(request_that_waits(Deadlines(30), client, 20, 0))
    await settle()
    client.left.set()
    assert (await request).end_reason is EndReason.DISCONNECTED
    assert asyncio.get_running_loop().time() == 0.0


async def test_an_idle_process_has_no_timer() -> None:
    deadlines = Deadlines(30)
    request = deadlines.start_request(Client().receive)
    request.close()
    await asyncio.sleep(1)
    assert deadlines.due == {}
    assert deadlines._timer is None


class Socket(Transport):
    """`closed_at` is the time in seconds at which both sides were closed."""

    closed_at: float | None = None

    def close(self) -> None:
        self.closed_at = self.closed_at or asyncio.get_running_loop().time()


@pytest.mark.parametrize(("pause", "closed_at"), [(4.0, 30.0), (6.0, 5.0)])
async def test_it_reads_for_30_seconds_and_5_without_a_byte(pause: float, closed_at: float) -> None:
    transport = Socket()
    lingering = LingeringClose(transport, HttpLimits(), lambda _: None)
    assert (transport.lingering, transport.closed, transport.closed_at) == (lingering, True, None)
    for _ in range(10):
        await asyncio.sleep(pause)
        if transport.closed_at is None:
            lingering.data_received(b"x")
    assert transport.closed_at == closed_at


async def test_nothing_is_left_when_the_client_has_closed() -> None:
    transport = Socket()
    lost: list[Exception | None] = []
    LingeringClose(transport, HttpLimits(), lost.append).connection_lost(None)
    await asyncio.sleep(60)
    assert (lost, transport.closed_at) == ([None], None)


HALF = HIGH_WATER_BYTES // 2


@pytest.mark.parametrize(("sizes", "much"), [((), False), ((HALF, HALF), False), ((HALF, HALF, 1), True)])
async def test_much_is_more_than_8_mib_of_all(sizes: tuple[int, ...], much: bool) -> None:
    backpressure = WriteBackpressure()
    for size in sizes:
        backpressure.add(SlowClient(size))
    assert backpressure.is_high is much


async def test_an_answer_counts_until_it_is_read_for_the_most_part() -> None:
    """The transport keeps the whole answer until then."""
    backpressure, client = WriteBackpressure(), SlowClient(HIGH_WATER_BYTES + 1)
    backpressure.add(client)
    client.unread = 70_000
    assert backpressure.is_high
    backpressure.remove(client)
    assert not backpressure.is_high
    backpressure.remove(client)  # it left as well


async def test_a_writer_does_not_wait_while_little_is_unread() -> None:
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


async def test_a_client_that_reads_nothing_is_disconnected() -> None:
    """The server closes after a minute without a byte. One byte in a minute keeps the connection open."""
    backpressure, client = WriteBackpressure(), SlowClient(1000)
    backpressure.add(client)
    await asyncio.sleep(STALLED_SECONDS - 1)
    client.unread -= 1
    await asyncio.sleep(STALLED_SECONDS)
    assert not client.aborted
    await asyncio.sleep(1)
    assert client.aborted


async def test_a_client_that_has_read_stays_connected() -> None:
    backpressure, client = WriteBackpressure(), SlowClient(1000)
    backpressure.add(client)
    backpressure.remove(client)
    await asyncio.sleep(2 * STALLED_SECONDS)
    assert not client.aborted
