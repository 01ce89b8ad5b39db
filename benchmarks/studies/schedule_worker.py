"""Runs only the worker for schedules, as in the container, in a process: `python -m benchmarks.studies.schedule_worker
DSN`."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Any, TypeVar

from penstock.postgres.statement import Row, Statement
from penstock.settings import Settings
from penstock_web.database.activity import Activity
from penstock_web.database.listener import listen
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.metrics.meter import Meter
from penstock_web.workers.background import FiringWorker

RowT = TypeVar("RowT", bound=Row)


async def main(dsn: str) -> None:
    """Runs the worker as the container does, so the worker sleeps until a schedule is due or a notification wakes
    it."""
    long_polls = LongPollDispatcher(no_statement)
    settings = Settings.read({"DATABASE_URL": dsn, "QUOTA_FIRINGS_PER_SECOND": "0"})
    activity = Activity()
    worker = FiringWorker(settings, long_polls, Meter(settings))
    await asyncio.gather(worker.run(), listen(dsn, long_polls, activity))


async def no_statement(statement: Statement[RowT], arguments: Sequence[Any], /) -> list[RowT]:
    """Replaces the database call of the dispatcher, which a process without long polls never makes."""
    raise NotImplementedError(statement.name, arguments)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
