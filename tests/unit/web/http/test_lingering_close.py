"""The end of a connection whose client is still sending, in virtual time."""

import asyncio

import pytest

from penstock_web.http.limits import HttpLimits
from penstock_web.http.lingering_close import LingeringClose
from tests.support.web.http_connection import Transport

pytestmark = pytest.mark.virtual_time


class Socket(Transport):
    """`closed_at`: in seconds, when both sides were closed."""

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
