"""Functions that a schedule invokes. Each function runs one worker and writes the worker's counts as metrics.

handler = build_polling_handler(deliver)                # functions/deliver.py
handler = build_statement_handler(maintain)             # functions/maintain.py
handler = build_reporting_handler(measure)              # functions/measure.py
"""

from collections import Counter
from collections.abc import Callable
from time import monotonic, sleep
from typing import TYPE_CHECKING, Protocol

from penstock.settings import Settings
from penstock.workers import Counts

from .environment import ExecutionEnvironment

if TYPE_CHECKING:
    from psycopg import Connection

    from penstock.drivers import StatementExecutor
    from penstock.postgres.statement import Row
    from penstock.postgres.statements.installation import QueueCountsRow

MAX_INVOCATION_SECONDS = 45
"""A schedule invokes the function every minute, and the function's timeout is 60 seconds."""

Run = Callable[[ExecutionEnvironment], Counts]


class PollingWorker(Protocol):
    """A module of `penstock.workers` whose work must not wait for the next invocation.

    The worker needs a psycopg connection even if QUEUE_DATABASE_DRIVER is pg8000. A run returns when no work will be
    due for some time.
    """

    MAX_RUN_SECONDS: float

    def run_once(
        self, settings: Settings, connection: "Connection[Row]", longest_run_seconds: float = ...
    ) -> Counts: ...

    def poll_seconds(self, settings: Settings) -> float | None:
        """Returns the pause after a run, or None if the invocation can end because new work can wait for the next
        minute."""


class StatementWorker(Protocol):
    """A module of `penstock.workers` that makes calls with psycopg or pg8000."""

    MAX_RUN_SECONDS: float

    def run_once(self, settings: Settings, connection: "StatementExecutor") -> Counts: ...


class ReportingWorker(Protocol):
    """A module of `penstock.workers` that makes calls and reports gauges."""

    MAX_RUN_SECONDS: float

    def report_once(
        self, settings: Settings, connection: "StatementExecutor", report: "Callable[[QueueCountsRow], None]"
    ) -> Counts: ...


class ScheduledHandler:
    """Runs a worker. Runs the worker again if the run stops at its time limit, because more work may remain."""

    def __init__(self, name: str, run: Run, longest_run_seconds: float, environment: ExecutionEnvironment) -> None:
        self.name = name
        self.run = run
        self.longest_run_seconds = longest_run_seconds
        self.environment = environment

    def __call__(self, event: object, lambda_context: object) -> dict[str, int]:  # noqa: ARG002 - Lambda's form
        """Returns the sums of all runs' counts. Raises a run's error, so that the invocation counts as failed."""
        return self.environment.traced(self._work, lambda_context)

    def _work(self) -> dict[str, int]:
        deadline = monotonic() + MAX_INVOCATION_SECONDS
        totals: dict[str, int] = {}
        finished = False
        while not finished and monotonic() < deadline:
            started = monotonic()
            counts = self.run(self.environment)
            finished = monotonic() - started < self.longest_run_seconds
            totals = {name: totals.get(name, 0) + count for name, count in counts.items()}
        self.environment.metrics.count({"Worker": self.name}, totals)
        return totals


class PollingHandler(ScheduledHandler):
    """Runs a worker repeatedly for QUEUE_LAMBDA_WORKER_SECONDS, because a function receives no notifications between
    invocations.

    QUEUE_LAMBDA_WORKER_SECONDS is a little longer than a minute, so the next invocation starts before the current
    invocation ends. Two invocations share the work for some seconds. Reserved concurrency prevents a third invocation.
    """

    def __init__(self, worker: PollingWorker, environment: ExecutionEnvironment) -> None:
        def run(environment: ExecutionEnvironment) -> Counts:
            return worker.run_once(environment.settings, environment.open_psycopg_connection())

        super().__init__(name_worker(worker), run, worker.MAX_RUN_SECONDS, environment)
        self._worker = worker

    def _work(self) -> dict[str, int]:
        settings = self.environment.settings
        if not settings.queue_lambda_worker_seconds:
            return super()._work()
        ends = monotonic() + settings.queue_lambda_worker_seconds
        totals: Counter[str] = Counter()
        try:
            while (left := ends - monotonic()) > 0:
                totals.update(self._worker.run_once(settings, self.environment.open_psycopg_connection(), left))
                pause = self._worker.poll_seconds(settings)
                if pause is None:
                    break
                sleep(max(0.0, min(pause, ends - monotonic())))
        finally:  # completed work counts even if a later run fails
            self.environment.metrics.count({"Worker": self.name}, totals)
        return totals


def build_polling_handler(worker: PollingWorker) -> PollingHandler:
    """Returns the handler of a worker module whose work must not wait for the next minute."""
    return PollingHandler(worker, ExecutionEnvironment.start())


def build_statement_handler(worker: StatementWorker) -> ScheduledHandler:
    """Returns the handler of a worker module that only makes calls."""

    def run(environment: ExecutionEnvironment) -> Counts:
        return worker.run_once(environment.settings, environment.database)

    return ScheduledHandler(name_worker(worker), run, worker.MAX_RUN_SECONDS, ExecutionEnvironment.start())


def build_reporting_handler(worker: ReportingWorker) -> ScheduledHandler:
    """Returns the handler of a worker module whose gauges become metrics."""

    def run(environment: ExecutionEnvironment) -> Counts:
        return worker.report_once(environment.settings, environment.database, environment.metrics.put_depth)

    return ScheduledHandler(name_worker(worker), run, worker.MAX_RUN_SECONDS, ExecutionEnvironment.start())


def name_worker(worker: object) -> str:
    """Returns the worker's name: `maintain` for penstock.workers.maintain."""
    return getattr(worker, "__name__", type(worker).__name__).rpartition(".")[2]
