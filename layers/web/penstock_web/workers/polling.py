"""Runs the container's worker `poll`, which runs penstock.workers.poll and makes the same calls as requests. The worker
reads the list of mappings every 5 seconds, or once a minute if there are no mappings. A change to a mapping wakes the
worker. The worker writes a heartbeat only in every second round. Heartbeats are rare, because each commit makes the
next long-poll check examine every queue with waiting requests.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from penstock.aws.named_queue import NamedQueue
from penstock.effects import Operation
from penstock.environment import Environment
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import ReceivedRow
from penstock.workers.poll.poller import Poller
from penstock.workers.poll.service import Counts
from penstock_web.runtime.driver import Resources, run_operation

T = TypeVar("T")
RowT = TypeVar("RowT", bound=Row)

MAPPINGS: Final = "mappings"
"""NOTIFY uses the name `mappings` for event source mappings (queue.create_mapping and other functions). For a queue,
NOTIFY uses the ARN.
"""


class ContainerService:
    """Merges the calls of mappings with the calls of requests. The receives of mappings wait like long polls."""

    claim_seconds = 5.0
    idle_seconds = 60.0

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    @property
    def counts(self) -> Counts:
        """Returns the counters for /metrics."""
        return self._resources.meter.queues

    async def run(self, operation: Operation[T]) -> T:
        """Returns the result of the operation."""
        return await run_operation(operation, self._resources)

    async def call(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Makes a call and returns the rows. Raises AwsError."""
        return await self._resources.pool.call(statement, arguments)

    def return_messages(self, queue: NamedQueue, messages: Sequence[ReceivedRow]) -> None:
        """Makes messages visible again."""
        self._resources.batcher.return_messages(queue, messages)


@asynccontextmanager
async def polling(environment: Environment, resources: Resources) -> AsyncIterator[Poller]:
    """Polls for event source mappings until the block ends."""
    poller = Poller(environment, ContainerService(resources))
    resources.long_polls.on_wake(MAPPINGS, poller.wake)
    try:
        yield poller
    finally:
        await poller.close(0)
