"""Background workers of the container: the same `run_once` that scheduled functions call, in a loop, in a thread."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import psycopg

from penstock.database import connect
from penstock.settings import Settings
from penstock.workers import Counts, maintain, move

RunOnce = Callable[[Settings, "psycopg.Connection[Any]"], Counts]

CANCEL_SECONDS = 0.5

_log = logging.getLogger(__name__)


class Worker:
    """Runs `run_once` again and again, `pause_seconds` after each end. What fails is logged and tried again."""

    def __init__(self, name: str, run_once: RunOnce, settings: Settings, pause_seconds: float) -> None:
        self._name = name
        self._run_once = run_once
        self._settings = settings
        self._pause_seconds = pause_seconds
        self._connection: psycopg.Connection[Any] | None = None
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Returns soon after `stop`."""
        while not self._stopping.is_set():
            try:
                await asyncio.to_thread(self._run)
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if not self._stopping.is_set():  # the database is away: said each time, without a traceback
                    _log.warning("%s: %s", self._name, " ".join(str(error).split()))
            except Exception as error:  # noqa: BLE001 - logged; the next run tries again
                if not self._stopping.is_set():
                    _log.exception("%s failed", self._name, exc_info=error)
            await self._pause()
        if self._connection is not None:
            self._connection.close()

    def stop(self) -> None:
        """No further run; a query under way is cancelled, and what was committed before stays done."""
        self._stopping.set()
        if self._connection is not None and not self._connection.closed:
            self._connection.cancel_safe(timeout=CANCEL_SECONDS)

    def _run(self) -> None:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._settings.database_url)
        self._run_once(self._settings, self._connection)

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._pause_seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass


def workers(settings: Settings) -> list[Worker]:
    """Every worker of the container."""
    return [
        Worker("maintain", maintain.run_once, settings, settings.queue_maintain_interval_ms / 1000),
        Worker("move", move.run_once, settings, settings.queue_move_interval_ms / 1000),
    ]
