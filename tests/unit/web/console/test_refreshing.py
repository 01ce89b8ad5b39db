"""When a page waits for the queues to be measured."""

from __future__ import annotations

import asyncio

import pytest

from penstock_web.console import refreshing
from penstock_web.console.refreshing import Refresher

FOREVER = 1e9
AT_ONCE = 0.0


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A page that waits without an end: a test hangs if its page never changes."""
    monkeypatch.setattr(refreshing, "REFRESH_SECONDS", FOREVER)
    return monkeypatch


@pytest.mark.usefixtures("patient")
async def test_a_page_waits_for_the_measurements() -> None:
    measured: list[int] = []

    async def refresh() -> None:
        await asyncio.sleep(0)
        measured.append(1)

    refresher = Refresher(refresh)
    await refresher.wait()
    await refresher.wait()
    assert measured == [1, 1]


async def test_after_one_that_waited_in_vain_no_page_waits(patient: pytest.MonkeyPatch) -> None:
    """The read under way goes on, and does not begin a second time."""
    begun, end = 0, asyncio.Event()

    async def refresh() -> None:
        nonlocal begun
        begun += 1
        await end.wait()

    refresher = Refresher(refresh)
    patient.setattr(refreshing, "REFRESH_SECONDS", AT_ONCE)
    await refresher.wait()
    patient.setattr(refreshing, "REFRESH_SECONDS", FOREVER)
    await refresher.wait()
    end.set()
    assert begun == 1


async def test_pages_wait_again_after_a_while(patient: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    end = asyncio.Event()

    async def refresh() -> None:
        await end.wait()
        happened.append("measured")

    refresher = Refresher(refresh)
    patient.setattr(refreshing, "REFRESH_SECONDS", AT_ONCE)
    patient.setattr(refreshing, "SLOW_SECONDS", AT_ONCE)
    await refresher.wait()
    happened.append("page")
    patient.setattr(refreshing, "REFRESH_SECONDS", FOREVER)
    asyncio.get_running_loop().call_soon(end.set)
    await refresher.wait()
    assert happened == ["page", "measured"]
