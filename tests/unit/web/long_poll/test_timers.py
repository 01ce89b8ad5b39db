"""Waits that end together, in virtual time."""

import asyncio

import pytest

from penstock_web.long_poll.timers import STEPS_PER_WAIT, WaitTimers

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("seconds", [0.001, 0.3, 1.0, 7.7, 20.0])
async def test_nobody_is_called_early_or_more_than_a_hundredth_late(seconds: float) -> None:
    timers, times = WaitTimers(), list[float]()
    loop = asyncio.get_running_loop()
    for _ in range(20):
        due = loop.time() + seconds
        timers.add(seconds, lambda due=due: times.append(loop.time() - due))  # type: ignore[misc]
        await asyncio.sleep(0.0137)
    await asyncio.sleep(2 * seconds)
    assert len(times) == 20
    assert min(times) >= -1e-9
    assert max(times) <= seconds / STEPS_PER_WAIT + 1e-9


async def test_a_moment_that_nobody_waits_for_any_more_is_forgotten() -> None:
    timers, called = WaitTimers(), list[str]()

    def first() -> None:
        called.append("first")

    def second() -> None:
        called.append("second")

    timer = timers.add(20, first)
    assert timers.add(20, second) is timer
    timers.remove(timer, first)
    assert not timer.handle.cancelled()
    timers.remove(timer, second)
    assert timer.handle.cancelled()
    assert timers.add(20, second) is not timer
    timers.remove(timer, second)  # once more, of the old one
    await asyncio.sleep(21)
    assert called == ["second"]
