"""How long a request may take, in virtual time. Source: docs/settings.md; docs/errors.md."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from penstock_web.runtime.deadlines import SWEEP_SECONDS, AsgiRequest, Deadlines, EndReason
from tests.support.web.virtual_clock import settle

pytestmark = pytest.mark.virtual_time


class Client:
    """Sends nothing more, and leaves when the test says so."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}


async def request_that_waits(
    deadlines: Deadlines, client: Client, wait_seconds: float, seconds: float
) -> AsgiRequest:
    """A request that waits (not counted) and then works (counted)."""
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
