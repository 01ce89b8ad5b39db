"""Invokes the scheduled functions at their rates, as EventBridge Scheduler does. A failure is only logged."""

import asyncio
import logging
from collections.abc import Sequence

from .front import Invoke
from .limits import InvocationError
from .template import Schedule

_log = logging.getLogger(__name__)


async def run_schedules(
    schedules: Sequence[Schedule], invoke: Invoke, pause_seconds: float | None = None
) -> None:
    """Invokes the functions until it is cancelled.

    With `pause_seconds`, the next invocation starts this long after the end of the last one, and the rate does not
    matter.
    """
    async with asyncio.TaskGroup() as tasks:
        for schedule in schedules:
            work = (
                invoke_at_rate(schedule, invoke)
                if pause_seconds is None
                else invoke_with_pauses(schedule, invoke, pause_seconds)
            )
            tasks.create_task(work)


async def invoke_at_rate(schedule: Schedule, invoke: Invoke) -> None:
    """Invokes the function at once, and then at the schedule's rate, even if an invocation takes long."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    async with asyncio.TaskGroup() as tasks:
        while True:
            tasks.create_task(invoke_once(schedule, invoke))
            due += schedule.seconds
            await asyncio.sleep(due - loop.time())


async def invoke_with_pauses(schedule: Schedule, invoke: Invoke, pause_seconds: float) -> None:
    """Invokes the function again `pause_seconds` after each invocation, for tests that cannot wait for the schedule's
    rate.
    """
    while True:
        await invoke_once(schedule, invoke)
        await asyncio.sleep(pause_seconds)


async def invoke_once(schedule: Schedule, invoke: Invoke) -> None:
    """Invokes the function once, and logs its error."""
    try:
        await invoke(schedule.function, {})
    except InvocationError as error:
        _log.error("%s: %s", schedule.function, error)
