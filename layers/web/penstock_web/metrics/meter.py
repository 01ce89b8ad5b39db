"""Counts the process's requests, merged calls, worker runs and connections."""

import platform
from bisect import bisect_left
from collections.abc import Callable, Mapping
from pathlib import Path
from time import time
from typing import Final

from penstock import __version__
from penstock.errors import AwsError
from penstock.observing.observer import Observer
from penstock.settings import Settings
from penstock_web.database.outage import Outage

from .exposition import Exemplars
from .families import ATTEMPT_SECONDS, BLOCKS, FLUSH_MESSAGES, LATENESS_SECONDS, REQUEST_SECONDS, RUN_SECONDS
from .memory import SPARE_SLOTS, CounterMemory, CounterMemoryFull
from .queue_counts import QueueCounts
from .receivers import Receivers

METHODS: Final = frozenset(("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"))
OTHER_METHOD: Final = "_other"
SLOTS_PER_QUEUE: Final = sum(BLOCKS[kind].slots for kind in ("sends", "receives", "deletes", "mappings"))


class Meter:
    """Counts the process's requests, worker runs and connections, and records receivers of queues and outages of the
    database. The processes on a port share `folder`. `folder` is None for a single process. `explain_outage` returns
    the probable reason of an outage.
    """

    def __init__(self, settings: Settings, folder: Path | None = None, explain_outage: Callable[[], str] = str) -> None:
        most = settings.queue_metrics_max_queues
        self.memory = CounterMemory(SPARE_SLOTS + (most + 1) * SLOTS_PER_QUEUE, folder)
        self.queues = QueueCounts(self.memory, most, (settings.queue_account_id, settings.queue_region))
        self.outage = Outage(explain_outage)
        self.receivers = Receivers()
        self.exemplars = Exemplars() if settings.otlp_enabled else None
        self._numbers = self.memory.numbers
        self._starts: dict[tuple[str, ...], int] = {}
        self._requests: dict[tuple[str, str, int], tuple[int, int]] = {}
        self._active = self._start("active")
        self._connections = self._start("connections")
        self._start("access_log")
        self._flushes = self._start("flushes")
        self._start("exhausted")
        self._start("failed_redrives")
        self._start("fires")
        # The counters begin at 0, so that an alert can detect the first failure.
        for outcome in ("failed", "exhausted"):
            self._start("work", "fire", outcome)
        for outcome in ("success", "failure"):
            self._start("attempts", outcome)
        for by in ("publish", "event", "mapping"):
            self._start("unjudged", by)
        self._set("build", __version__, platform.python_version(), value=1)
        self._set("processes", value=1)
        self._start("pool")
        self._start("pool_waits")

    # --- connections -------------------------------------------------------------------------------------------------
    def count_connection(self, *, admitted: bool) -> None:
        """Counts an open connection. If `admitted` is false, also counts a refused connection."""
        self._numbers[self._connections] += 1
        if not admitted:
            self._numbers[self._connections + 1] += 1

    def connection_closed(self) -> None:
        """Removes a connection from the open connections."""
        self._numbers[self._connections] -= 1

    # --- requests ----------------------------------------------------------------------------------------------------
    def request_started(self) -> None:
        """Counts an active request."""
        self._numbers[self._active] += 1

    def request_ended(self) -> None:
        """Removes a request, with or without a response, from the active requests."""
        self._numbers[self._active] -= 1

    def count_response(self, method: str, path: str, status: int, seconds: float) -> None:
        """Counts a response. `path` is an action or a route's template, so that the number of different paths is
        limited."""
        slots = self._requests.get((method, path, status)) or self._new_request(method, path, status)
        if slots is None:
            return
        count, duration = slots
        numbers = self._numbers
        numbers[count] += 1
        numbers[duration] += seconds
        bucket = bisect_left(REQUEST_SECONDS, seconds)
        numbers[duration + 1 + bucket] += 1
        if self.exemplars is not None and method in METHODS:
            self.exemplars.add(f'method="{method}",path="{path}"', bucket, seconds)

    def _new_request(self, method: str, path: str, status: int) -> tuple[int, int] | None:
        named = method if method in METHODS else OTHER_METHOD
        try:
            slots = self._start("requests", named, path, str(status)), self._start("durations", named, path)
        except CounterMemoryFull:  # A failure in the metrics must not make a request fail.
            return None
        if named is not OTHER_METHOD:  # Clients can invent method names.
            self._requests[method, path, status] = slots
        return slots

    def count_refusal(self, error: AwsError) -> None:
        """Counts an error if the error refuses access."""
        if error.is_access_error:
            self._numbers[self._start("refusals", error.query_code)] += 1

    def count_dropped_lines(self, lines: int) -> None:
        self._numbers[self._start("access_log")] += lines

    def count_unjudged(self, by: str, messages: int) -> None:
        """Counts messages that passed filters because the filters could not examine them."""
        self._numbers[self._start("unjudged", by)] += messages

    def count_flush(self, messages: int) -> None:
        """Counts a database call that stored messages."""
        self._add_to_histogram(self._flushes, FLUSH_MESSAGES, messages)

    # --- workers -----------------------------------------------------------------------------------------------------
    def count_run(self, worker: str, failed: bool, seconds: float) -> None:
        """Counts a finished run of a worker."""
        start = self._start("runs", worker, "failure" if failed else "success")
        self._numbers[start] += 1
        self._add_to_histogram(start + 1, RUN_SECONDS, seconds)
        if failed:
            self._set("last_runs", worker, value=1)
        else:
            self.count_success(worker)

    def count_success(self, worker: str) -> None:
        """Records the time of a worker's success."""
        self._set("successes", worker, value=time())
        self._set("last_runs", worker, value=0)

    def count_work(self, worker: str, counts: Mapping[str, int]) -> None:
        for what, count in counts.items():
            self._numbers[self._start("work", worker, what)] += count

    def count_delivery_attempt(self, delivered: bool, seconds: float) -> None:
        start = self._start("attempts", "success" if delivered else "failure")
        self._numbers[start] += 1
        self._add_to_histogram(start + 1, ATTEMPT_SECONDS, seconds)

    def count_failed_redrives(self, deliveries: int) -> None:
        """Counts exhausted deliveries that could not be stored in the dead-letter queue."""
        self._numbers[self._start("failed_redrives")] += deliveries

    def count_exhausted(self, deliveries: int) -> None:
        """Counts given-up deliveries."""
        self._numbers[self._start("exhausted")] += deliveries

    def count_fire(self, late_seconds: float) -> None:
        """Counts a fired schedule."""
        self._add_to_histogram(self._start("fires"), LATENESS_SECONDS, max(0.0, late_seconds))

    def set_pool_gauges(self, stats: Mapping[str, int], timeouts: int) -> None:
        """Sets the gauges of the connection pool from the statistics of psycopg_pool."""
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

    def _add_to_histogram(self, start: int, bounds: tuple[float, ...], value: float) -> None:
        self._numbers[start] += value
        self._numbers[start + 1 + bisect_left(bounds, value)] += 1


class WorkerObserver(Observer):
    """Counts the work of a worker in a meter. Only the worker's thread calls this object."""

    def __init__(self, meter: Meter, worker: str) -> None:
        self._meter = meter
        self._worker = worker

    def counted(self, counts: Mapping[str, int]) -> None:
        self._meter.count_work(self._worker, counts)
        self._meter.count_exhausted(counts.get("exhausted", 0) + counts.get("dead_lettered", 0))
        self._meter.count_failed_redrives(counts.get("failed_redrives", 0))

    def attempted(self, delivered: bool, seconds: float) -> None:
        self._meter.count_delivery_attempt(delivered, seconds)

    def fired(self, late_seconds: float) -> None:
        self._meter.count_fire(late_seconds)
