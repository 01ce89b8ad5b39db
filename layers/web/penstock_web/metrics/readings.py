"""Reads the measurements of the worker `measure` for a scrape, at most once a second."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, NamedTuple

from penstock.postgres.statements.installation import (
    READ_INSTALLATION,
    READ_MEASUREMENTS,
    InstallationRow,
    MeasurementRow,
)
from penstock_web.database.calls import ExecuteStatement

from .exposition import FamilySeries, format_labels
from .families import DATABASE_UP, DATABASE_WRITABLE, MEASUREMENT_AGE, QUEUE_GAUGES, QUEUES_MEASURED, READINGS
from .queue_counts import OTHER
from .verdicts import Judged, VerdictReadings, build_verdict_series

MAX_WAIT_SECONDS: Final = 2.0
FRESH_SECONDS: Final = 1.0


class Reading(NamedTuple):
    """Holds the rows of `queue.read_measurements` and `queue.read_installation`, and the verdicts on the measured
    queues. `refusal` is why the database refuses changes, or empty.
    """

    queues: list[MeasurementRow]
    installation: list[InstallationRow]
    verdicts: list[Judged]
    refusal: str


class Readings:
    """Reads measurements. `most_queues` is the number of queues that have separate rows. One row contains the sums of
    all other queues. `probe` returns why the database refuses changes, or "". `refresh` returns after the worker
    `measure` has measured the queues again.
    """

    def __init__(
        self,
        call: ExecuteStatement,
        most_queues: int,
        verdicts: VerdictReadings,
        probe: Callable[[], Awaitable[str]],
        refresh: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._verdicts = verdicts
        self._probe = probe
        self._refresh = refresh
        self._call = call
        self._most_queues = most_queues
        self._read_task: asyncio.Task[Reading | None] | None = None
        self._read_at = float("-inf")

    async def __call__(self) -> Reading | None:
        """Returns a reading that is at most a second old, or None if the database does not respond within 2 s. After 2
        s, the read continues in the background.
        """
        loop = asyncio.get_running_loop()
        if self._read_task is None or (self._read_task.done() and loop.time() - self._read_at > FRESH_SECONDS):
            self._read_task = loop.create_task(self._read())
            self._read_at = loop.time()
        await asyncio.wait([self._read_task], timeout=MAX_WAIT_SECONDS)
        return self._read_task.result() if self._read_task.done() else None

    async def _read(self) -> Reading | None:
        if self._refresh is not None:
            await self._refresh()
        try:
            queues = await self._call(READ_MEASUREMENTS, [self._most_queues])
            installation = await self._call(READ_INSTALLATION, [])
            verdicts = await self._verdicts([row.arn for row in queues if row.arn is not None])
            return Reading(queues, installation, verdicts, await self._probe())
        except Exception:  # noqa: BLE001 - after any error there is no reading
            return None


def build_reading_series(reading: Reading | None, label: Callable[[str], str]) -> Iterator[FamilySeries]:
    """Yields the series of each family. `label` returns the label for the ARN of a queue."""
    yield DATABASE_UP, [("", [float(reading is not None)])]
    if reading is not None:
        yield DATABASE_WRITABLE, [("", [float(not reading.refusal)])]
        yield from build_queue_gauge_series(reading.queues, label)
        yield from build_verdict_series(reading.verdicts, label)
        yield from build_installation_gauge_series(reading.installation)


def build_queue_gauge_series(rows: list[MeasurementRow], label: Callable[[str], str]) -> Iterator[FamilySeries]:
    """Yields the series of the queue gauges."""
    named = sorted((OTHER if row.arn is None else label(row.arn), row) for row in rows)
    labelled = [(format_labels(["queue"], [name]), row) for name, row in named]
    for family, value in QUEUE_GAUGES:
        yield family, [(text, [value(row)]) for text, row in labelled]
    yield MEASUREMENT_AGE, [("", [max((row.measured_seconds for row in rows), default=0.0)])]
    yield QUEUES_MEASURED, [("", [float(sum(row.arn is not None for row in rows))])]


def build_installation_gauge_series(rows: list[InstallationRow]) -> Iterator[FamilySeries]:
    """Yields the series of the installation gauges. Omits names that this release does not know."""
    for name, (family, label) in READINGS.items():
        found = sorted((row.label, row.value) for row in rows if row.name == name)
        if found:
            yield family, [(format_labels(label.split(), t.split()) if label else "", [v]) for t, v in found]
