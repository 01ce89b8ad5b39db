"""Runs the container's process. The process opens its resources, serves until SIGTERM or SIGINT, and shuts down in
order.

stop accepting ─► release long polls ─► finish requests and flushes (QUEUE_DRAIN_SECONDS) ─► close the pool
"""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID, uuid4

import psycopg
import uvloop
from starlette.types import ASGIApp

from penstock.access.audit.refusals import Refusals, keep_refusals
from penstock.access.receipt_handle import ReceiptHandles
from penstock.actions import load_operations
from penstock.effects import Operation
from penstock.environment import Environment, load_receipt_handles
from penstock.postgres.psycopg_connection import TransactionExecutor, connect
from penstock.postgres.server_check import find_division, find_server_problem
from penstock.postgres.statement import Row, Statement
from penstock.settings import SettingError, Settings

from .access_log.writer import open_access_log
from .application import Application
from .batching.batcher import Batcher
from .batching.contention import Contention
from .batching.direct_handoff import DirectHandoff
from .batching.write_backpressure import WriteBackpressure
from .database.activity import Activity
from .database.listener import listen
from .database.pool import Pool
from .http.http_server import HttpServer
from .local_error import LocalError
from .long_poll.dispatcher import LongPollDispatcher
from .metrics.meter import Meter
from .metrics.page import maintain_metrics
from .runtime.driver import Resources
from .runtime.service_records import log_signal
from .workers.background import build_workers, check_webhook_settings
from .workers.polling import polling
from .workers.worker import Worker

if TYPE_CHECKING:
    from .tracing.tracing import Tracing

# Requests create no reference cycles, so a collection after every 700 allocations would find no garbage. When thousands
# of clients connect, the process creates many long-lived objects. The collection of a generation blocks all requests
# for 1 ms for each 1,000 objects in the generation.
GARBAGE_THRESHOLDS = (2_000, 5, 100)
# If a thread computes (effects.Compute), the event loop waits this long for the interpreter's lock. Python's default is
# 5 ms.
SWITCH_SECONDS = 0.001
# After the requests have ended, only calls for disconnected clients can still be running. While the database hangs,
# these calls do not end.
SHUTDOWN_SECONDS = 0.5
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def serve(
    settings: Settings,
    host: str,
    port: int,
    on_ready: Callable[[], None],
    reuse_port: bool = False,
    metrics_folder: Path | None = None,
) -> None:
    """Serves until a signal arrives, and then returns. The server calls `on_ready` once, when it accepts connections on
    the port.

    Raises LocalError, or SettingError if the webhook settings cannot be read.

    If `reuse_port` is set, several processes share the port, and the kernel distributes connections among these
    processes. The processes keep their metrics in `metrics_folder`, so that each process can report the metrics of all
    processes.
    """
    # psycopg_pool logs two info lines for each call, and a warning for each request during an outage. Requests during
    # an outage get 503.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    check_webhook_settings(settings)
    environment = Environment(settings, load_receipts(settings))
    load_operations()
    listener = open_listening_socket(host, port, reuse_port)
    asyncio_runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    with asyncio_runner, contextlib.closing(listener):
        asyncio_runner.run(run(environment, listener, on_ready, metrics_folder))


def load_receipts(settings: Settings) -> ReceiptHandles:
    """Returns the installation's key for receipt handles. Raises LocalError if the database cannot be reached or is not
    migrated, or if the two addresses lead to different databases."""
    try:
        with connect(settings.database_url) as connection:
            problem = find_server_problem(connection)
            if problem := problem or find_division(connection, settings.database_url, settings.direct_url):
                raise LocalError(problem)
            return load_receipt_handles(TransactionExecutor(connection))
    except psycopg.Error as error:
        raise LocalError(f"the database cannot be used: {' '.join(str(error).split())}") from error


def open_listening_socket(host: str, port: int, reuse_port: bool) -> socket.socket:
    """Returns a bound TCP socket. Raises LocalError if the address is already in use or belongs to another machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise LocalError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return listener


async def run(
    environment: Environment, listener: socket.socket, on_ready: Callable[[], None], metrics_folder: Path | None = None
) -> None:
    """Opens the resources, serves and shuts down, in a running event loop."""
    settings = environment.settings
    write_backpressure = WriteBackpressure()
    async with (
        open_traces(settings) as tracing,
        open_resources(settings, write_backpressure, metrics_folder, tracing) as resources,
        polling(environment, resources) as poller,
        writing_refusals(environment, resources),
    ):
        application, traced_application = build_application(environment, resources, tracing)
        http_server = HttpServer(traced_application, application.aws_application, write_backpressure)
        with StopSignals() as signals:
            await http_server.start(listener)
            gc.freeze()  # The current objects live until the process ends, so the collector need not scan them.
            gc.set_threshold(*GARBAGE_THRESHOLDS)
            sys.setswitchinterval(SWITCH_SECONDS)
            on_ready()
            await signals.stop.wait()
            resources.long_polls.drain()
            await asyncio.gather(
                http_server.stop(settings.queue_drain_seconds, signals.stop_at_once),
                poller.close(settings.queue_drain_seconds),
            )
            application.stop()


@contextlib.asynccontextmanager
async def writing_refusals(environment: Environment, resources: Resources) -> AsyncIterator[None]:
    """While the block runs, writes the counts of refused requests and of message reads to the audit log."""
    writing = asyncio.create_task(keep_refusals(environment.cache(Refusals), resources.pool.call))
    try:
        yield
    finally:
        writing.cancel()


class StopSignals:
    """Ends the service on SIGTERM and SIGINT. A second signal ends the service immediately. Only a main thread can
    receive signals.
    """

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.stop_at_once = asyncio.Event()
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.getsignal(number) for number in SIGNALS}
            for number in SIGNALS:
                asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            asyncio.get_running_loop().remove_signal_handler(number)
            signal.signal(number, handler)

    def _on_signal(self, number: signal.Signals) -> None:
        log_signal(number)
        (self.stop_at_once if self.stop.is_set() else self.stop).set()


@contextlib.asynccontextmanager
async def open_traces(settings: Settings) -> "AsyncIterator[Tracing | None]":
    """Yields the tracer if OTLP_ENABLED is set. At the end, the tracer has two seconds to send its spans. Raises
    SettingError.

    Only this function imports OpenTelemetry. If traces are off, OpenTelemetry costs no time and need not be installed.
    """
    if not settings.otlp_enabled:
        yield None
        return
    try:
        from .tracing.tracing import open_tracing  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SettingError(
            f"OTLP_ENABLED needs the packages of the extra `tracing`: {error}. In a checkout of Penstock, "
            "`pip install '.[tracing]'` installs them."
        ) from error
    # The span queue itself reports lost spans.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    tracing = open_tracing(settings)
    try:
        yield tracing
    finally:
        await asyncio.to_thread(tracing.close)


def build_application(
    environment: Environment, resources: Resources, tracing: "Tracing | None"
) -> tuple[Application, ASGIApp]:
    """Returns the application, and the application that the server calls. If traces are on, the second one records a
    span of each request, and the fast path of the first one also records spans.
    """
    if tracing is None:
        application = Application(environment, resources)
        return application, application
    from .tracing.requests import OpenTelemetryTracer, TracedApplication  # noqa: PLC0415

    tracer = OpenTelemetryTracer(tracing)
    application = Application(environment, resources, tracer)
    return application, TracedApplication(application, tracer)


def build_pool(settings: Settings, watcher: UUID) -> Pool:
    """Returns the connection pool, which is not open yet. `watcher` is the id of the process's long polls."""
    return Pool(
        settings.database_url,
        settings.queue_max_connections,
        settings.queue_pool_timeout_ms / 1000,
        settings.direct_url,
        watcher,
        settings.call_seconds,
    )


def build_batcher(
    settings: Settings,
    pool: Pool,
    long_polls: LongPollDispatcher,
    write_backpressure: WriteBackpressure,
    on_response: Callable[[Statement[Row], int], None],
) -> Batcher:
    """Returns the batcher of the process. The batcher calls `on_response` after each call."""
    return Batcher(
        pool.call_pipelined,
        settings.queue_batch_limit,
        settings.queue_linger_ms / 1000,
        on_response,
        DirectHandoff(pool, long_polls, write_backpressure),
        write_backpressure,
        Contention(pool.call_hurriedly, pool.call_waiting, max(1, settings.queue_max_connections // 2)),
    )


@contextlib.asynccontextmanager
async def open_resources(
    settings: Settings,
    write_backpressure: WriteBackpressure,
    metrics_folder: Path | None = None,
    tracing: "Tracing | None" = None,
) -> AsyncIterator[Resources]:
    """Yields the objects that all requests share, while background tasks and workers run. Closes these objects at the
    end."""
    watcher = uuid4()  # the process's id in the database, for long polls and connections
    pool = build_pool(settings, watcher)
    meter = Meter(settings, metrics_folder, pool.explain_failure)
    activity = Activity()
    long_polls = LongPollDispatcher(pool.call_pipelined, watcher)
    on_response = partial(_notice_call, meter, activity)
    batcher = build_batcher(settings, pool, long_polls, write_backpressure, on_response)
    workers, measurement = build_workers(settings, long_polls, activity, meter, pool, tracing)
    observe = build_observer(tracing)
    await pool.open()
    background = Background(
        workers,
        build_listener(settings, pool, long_polls, activity, meter),
        long_polls.shared_check.run(),
        maintain_metrics(meter, pool),
        meter.receivers.keep(pool.call),
    )
    try:
        with open_access_log(settings, meter.count_dropped_lines) as access_log:
            yield Resources(pool, batcher, long_polls, meter, observe, measurement.refresh, access_log)
    finally:
        long_polls.drain()
        await background.stop(batcher)
        await pool.close()
        meter.memory.close()


def build_listener(
    settings: Settings, pool: Pool, long_polls: LongPollDispatcher, activity: Activity, meter: Meter
) -> Coroutine[Any, Any, None]:
    """Returns the task of the LISTEN connection, which has not started."""
    check_seconds = settings.queue_idle_check_ms / 1000
    return listen(settings.direct_url, long_polls, activity, settings.call_seconds, check_seconds, meter.outage, pool)


class Background:
    """Runs the background tasks of the process. Tasks of workers end by themselves after the workers are stopped. The
    process cancels `endless` tasks.
    """

    def __init__(self, background_workers: list[Worker], *endless: Coroutine[Any, Any, None]) -> None:
        loop = asyncio.get_running_loop()
        self._workers = background_workers
        self._endless_tasks = [loop.create_task(work) for work in endless]
        self._worker_tasks = [loop.create_task(worker.run()) for worker in background_workers]

    async def stop(self, batcher: Batcher) -> None:
        """Stops the tasks and flushes the batcher. Abandons tasks that are unfinished after half a second."""
        for worker in self._workers:
            worker.stop()
        for task in self._endless_tasks:
            task.cancel()
        flushes = asyncio.get_running_loop().create_task(batcher.drain())
        await asyncio.wait([*self._endless_tasks, *self._worker_tasks, flushes], timeout=SHUTDOWN_SECONDS)


def _notice_call(meter: Meter, activity: Activity, statement: Statement[Row], rows: int) -> None:
    """Counts the messages that a merged call has stored, and reports the change to waiting workers."""
    if statement.stores_messages:
        meter.count_flush(rows)
    if rows or not statement.is_idle_without_rows:
        activity.notice()


def build_observer(tracing: "Tracing | None") -> "Callable[[Operation[Any]], Operation[Any]] | None":
    """Returns the function that records operations, or None if traces are off."""
    if tracing is None:
        return None
    from .tracing.operations import OperationRecorder  # noqa: PLC0415

    return OperationRecorder(tracing)
