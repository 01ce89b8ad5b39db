"""How long a request may stay, in virtual time. Source: docs/settings.md, QUEUE_REQUEST_TIMEOUT_SECONDS."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from penstock_web.deadlines import SWEEP_SECONDS, Deadlines, Ended, Visit
from tests.web.clock import run, settle


class Client:
    """Sends nothing more, and leaves when the test says so."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}


async def visit_that_waits(
    deadlines: Deadlines, client: Client, wait_seconds: float, seconds: float
) -> Visit:
    """A request that waits (not counted) and then works (counted)."""
    visit = deadlines.enter(client.receive)
    try:
        visit.pause()
        await asyncio.sleep(wait_seconds)
        visit.resume()
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        assert visit.ended is not None
    finally:
        visit.close()
    return visit


@pytest.mark.parametrize(
    ("wait_seconds", "seconds", "ended", "at"),
    [
        (0, 29, None, 29.0),
        (0, 31, Ended.OVERDUE, 30.0),
        (300, 29, None, 329.0),
        (300, 31, Ended.OVERDUE, 330.0),
    ],
)
def test_a_request_ends_after_its_time_and_a_wait_does_not_count(
    wait_seconds: float, seconds: float, ended: Ended | None, at: float
) -> None:
    async def scenario() -> None:
        visit = await visit_that_waits(Deadlines(30), Client(), wait_seconds, seconds)
        assert visit.ended is ended
        assert at <= asyncio.get_running_loop().time() <= at + SWEEP_SECONDS

    run(scenario())


def test_a_client_that_leaves_during_a_wait_ends_the_request() -> None:
    async def scenario() -> None:
        client = Client()
        request = asyncio.get_running_loop().create_task(visit_that_waits(Deadlines(30), client, 20, 0))
        await settle()
        client.left.set()
        assert (await request).ended is Ended.LEFT
        assert asyncio.get_running_loop().time() == 0.0

    run(scenario())


def test_an_idle_process_has_no_timer() -> None:
    async def scenario() -> None:
        deadlines = Deadlines(30)
        visit = deadlines.enter(Client().receive)
        visit.close()
        await asyncio.sleep(1)
        assert deadlines.due == {}
        assert deadlines._timer is None

    run(scenario())
