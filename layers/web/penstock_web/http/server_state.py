"""Holds the state that the connections of one server share."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.types import ASGIApp

from penstock_web.batching.write_backpressure import WriteBackpressure

from .aws_protocols import AwsApplication
from .limits import HttpLimits
from .responses import DateHeader


class Stoppable(Protocol):
    """Declares the methods of the connection that the server uses. `peer` is the client's address."""

    peer: str

    def stop(self) -> None:
        """Closes the connection after the response to the current request."""


@dataclass(slots=True, eq=False)
class ServerState:
    """Holds the applications, the limits and the open connections. `aws_application` is None if the server has no fast
    path."""

    application: ASGIApp
    aws_application: AwsApplication | None
    limits: HttpLimits
    write_backpressure: WriteBackpressure
    date: DateHeader = field(default_factory=DateHeader)
    connections: set[Stoppable] = field(default_factory=set)
    of_addresses: Counter[str] = field(default_factory=Counter)
    tasks: set["asyncio.Task[Any]"] = field(default_factory=set)
    _ended: asyncio.Event | None = None

    def start_task(self, coroutine: Any) -> None:
        """Runs an exchange's coroutine in a task."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self._forget_task)

    def admit(self, connection: Stoppable) -> bool:
        """Adds a connection. Returns False if too many connections are open, in total or from the same address."""
        self.connections.add(connection)
        self.of_addresses[connection.peer] += 1
        most = self.limits.max_connections
        admitted = len(self.connections) <= most and self.of_addresses[connection.peer] <= max(
            1, int(most * self.limits.max_share_of_an_address)
        )
        if self.aws_application is not None:
            self.aws_application.meter.count_connection(admitted=admitted)
        return admitted

    def forget(self, connection: Stoppable) -> None:
        """Removes a closed connection."""
        if connection in self.connections:
            self.connections.remove(connection)
            self.of_addresses[connection.peer] -= 1
            if not self.of_addresses[connection.peer]:
                del self.of_addresses[connection.peer]
            if self.aws_application is not None:
                self.aws_application.meter.connection_closed()
        if self._ended is not None:
            self._ended.set()

    async def wait_until_empty(self) -> None:
        """Waits until no connections and no tasks are left."""
        self._ended = asyncio.Event()
        while self.connections or self.tasks:
            await self._ended.wait()
            self._ended.clear()

    def _forget_task(self, task: "asyncio.Task[Any]") -> None:
        self.tasks.discard(task)
        if self._ended is not None:
            self._ended.set()
