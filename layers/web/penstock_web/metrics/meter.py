"""What a process counts: requests, merged calls, workers, connections; and what requests count about queues."""

import platform
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from time import time
from typing import Final

from penstock import __version__
from penstock.errors import AwsError
from penstock.observer import Observer
from penstock.settings import Settings

from .families import (
    ATTEMPT_SECONDS,
    BLOCKS,
    FLUSH_MESSAGES,
    LATE_SECONDS,
    REQUEST_SECONDS,
    RUN_SECONDS,
)
from .memory import SPARE_SLOTS, Full, Memory
from .queue_counts import QueueCounts

METHODS: Final = frozenset(("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"))
OTHER_METHOD: Final = "_other"
SLOTS_A_QUEUE: Final = sum(BLOCKS[kind].slots for kind in ("sends", "receives", "deletes"))


class Meter:
    """`folder`: where the processes that share a port keep their numbers; None: there are no others."""

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        most = settings.queue_metrics_max_queues
        self.memory = Memory(SPARE_SLOTS + (most + 1) * SLOTS_A_QUEUE, folder)
        self.queues = QueueCounts(self.memory, most, (settings.queue_account_id, settings.queue_region))
        self._numbers = self.memory.numbers
        self._starts: dict[tuple[str, ...], int] = {}
        self._requests: dict[tuple[str, str, int], tuple[int, int]] = {}
        self._active = self._start("active")
        self._flushes = self._start("flushes")
        self._start("exhausted")
        self._start("fires")
        for outcome in ("success", "failure"):
            self._start("attempts", outcome)
        self._set("build", __version__, platform.python_version(), value=1)
        self._set("processes", value=1)
        self._start("pool")
        self._start("pool_waits")

    # --- requests ----------------------------------------------------------------------------------------------------
    def entered(self) -> None:
        """A request is under way."""
        self._numbers[self._active] += 1

    def left(self) -> None:
        """It is no longer, answered or not."""
        self._numbers[self._active] -= 1

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """A request got its answer. `path`: an action or the template of a route, of which there are so many."""
        slots = self._requests.get((method, path, status)) or self._new_request(method, path, status)
        if slots is None:
            return
        count, duration = slots
        numbers = self._numbers
        numbers[count] += 1
        numbers[duration] += seconds
        numbers[duration + 1 + bisect_left(REQUEST_SECONDS, seconds)] += 1

    def _new_request(self, method: str, path: str, status: int) -> tuple[int, int] | None:
        named = method if method in METHODS else OTHER_METHOD
        try:
            slots = self._start("requests", named, path, str(status)), self._start("durations", named, path)
        except Full:  # which nobody has seen; a request must not fail by it
            return None
        if named is not OTHER_METHOD:  # methods can be made up without end
            self._requests[method, path, status] = slots
        return slots

    def refused(self, error: AwsError) -> None:
        """A request got this error: counted if it is about who may do what."""
        if error.is_access_error:
            self._numbers[self._start("refusals", error.query_code)] += 1

    def flushed(self, messages: int) -> None:
        """So many messages were stored by one call."""
        self._histogram(self._flushes, FLUSH_MESSAGES, messages)

    # --- workers -----------------------------------------------------------------------------------------------------
    def ran(self, worker: str, failed: bool, seconds: float) -> None:
        """A run of a worker ended."""
        start = self._start("runs", worker, "failure" if failed else "success")
        self._numbers[start] += 1
        self._histogram(start + 1, RUN_SECONDS, seconds)
        if not failed:
            self._set("successes", worker, value=time())

    def worked(self, worker: str, counts: Mapping[str, int]) -> None:
        """A worker did so much more."""
        for what, count in counts.items():
            self._numbers[self._start("work", worker, what)] += count

    def attempted(self, delivered: bool, seconds: float) -> None:
        """A webhook was posted."""
        start = self._start("attempts", "success" if delivered else "failure")
        self._numbers[start] += 1
        self._histogram(start + 1, ATTEMPT_SECONDS, seconds)

    def exhausted(self, webhooks: int) -> None:
        """So many were given up."""
        self._numbers[self._start("exhausted")] += webhooks

    def fired(self, late_seconds: float) -> None:
        """A schedule fired."""
        self._histogram(self._start("fires"), LATE_SECONDS, max(0.0, late_seconds))

    def pooled(self, stats: Mapping[str, int], timeouts: int) -> None:
        """What psycopg_pool says of itself."""
        size, idle = stats.get("pool_size", 0), stats.get("pool_available", 0)
        waiting = stats.get("requests_waiting", 0)
        self._set("pool", value=(size, idle, size - idle, waiting))
        waits, milliseconds = stats.get("requests_queued", 0), stats.get("requests_wait_ms", 0)
        self._set("pool_waits", value=(timeouts, waits, milliseconds / 1000))

    # --- slots -------------------------------------------------------------------------------------------------------
    def _start(self, *key: str) -> int:
        start = self._starts.get(key)
        if start is None:
            start = self._starts[key] = self.memory.allocate(*key)
        return start

    def _set(self, *key: str, value: float | tuple[float, ...]) -> None:
        start = self._start(*key)
        for offset, number in enumerate(value if isinstance(value, tuple) else (value,)):
            self._numbers[start + offset] = number

    def _histogram(self, start: int, bounds: tuple[float, ...], value: float) -> None:
        self._numbers[start] += value
        self._numbers[start + 1 + bisect_left(bounds, value)] += 1


class WorkerObserver(Observer):
    """Tells a meter what a worker does. Made in the event loop; called in the worker's thread, the only one that is."""

    def __init__(self, meter: Meter, worker: str) -> None:
        self._meter = meter
        self._worker = worker

    def counted(self, counts: Mapping[str, int]) -> None:
        self._meter.worked(self._worker, counts)
        self._meter.exhausted(counts.get("exhausted", 0) + counts.get("dead_lettered", 0))

    def attempted(self, delivered: bool, seconds: float) -> None:
        self._meter.attempted(delivered, seconds)

    def fired(self, late_seconds: float) -> None:
        self._meter.fired(late_seconds)
