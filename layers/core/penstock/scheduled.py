"""Functions that a schedule invokes: each runs one worker.

handler = scheduled_handler(maintain)               # functions/maintain.py
"""

from time import monotonic
from typing import TYPE_CHECKING, Protocol

from .execution import ExecutionEnvironment
from .settings import Settings
from .workers import Counts

if TYPE_CHECKING:
    from typing import Any

    from psycopg import Connection

LONGEST_INVOCATION_SECONDS = 45
"""A schedule comes every minute; the function's own timeout is 60 seconds."""


class Worker(Protocol):
    """A module of `penstock.workers`."""

    LONGEST_RUN_SECONDS: float

    def run_once(self, settings: Settings, connection: "Connection[Any]") -> Counts: ...


class ScheduledHandler:
    """Runs a worker, and again while its runs are cut short by their own limit of time."""

    def __init__(self, worker: Worker, world: ExecutionEnvironment) -> None:
        self.worker = worker
        self.world = world

    def __call__(self, event: object, lambda_context: object) -> dict[str, int]:  # noqa: ARG002 - Lambda's form
        """The counts of all runs, added up. Raises what a run raises, so that the invocation counts as failed."""
        deadline = monotonic() + LONGEST_INVOCATION_SECONDS
        totals: dict[str, int] = {}
        finished = False
        while not finished and monotonic() < deadline:
            started = monotonic()
            counts = self.worker.run_once(self.world.settings, self.world.database.connection())
            finished = monotonic() - started < self.worker.LONGEST_RUN_SECONDS
            totals = {name: totals.get(name, 0) + count for name, count in counts.items()}
        return totals


def scheduled_handler(worker: Worker) -> ScheduledHandler:
    """The handler of one worker, given as its module."""
    return ScheduledHandler(worker, ExecutionEnvironment())
