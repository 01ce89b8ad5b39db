"""Serves an ASGI application over HTTP/1.1. The server stops after the current requests have ended.

A load balancer handles TLS. ACCESS_LOG, `/metrics` and traces record the requests.
"""

import asyncio
import socket

from starlette.types import ASGIApp

from penstock_web.batching.write_backpressure import WriteBackpressure

from .aws_protocols import AwsApplication
from .connection import HttpConnection
from .limits import HttpLimits
from .server_state import ServerState


class HttpServer:
    """Runs a server on one listening socket. `aws_application` is the application's fast path, or None."""

    def __init__(
        self,
        application: ASGIApp,
        aws_application: AwsApplication | None = None,
        write_backpressure: WriteBackpressure | None = None,
        limits: HttpLimits | None = None,
    ) -> None:
        self._state = ServerState(
            application, aws_application, limits or HttpLimits(), write_backpressure or WriteBackpressure()
        )
        self._server: asyncio.Server | None = None

    async def start(self, listener: socket.socket) -> None:
        """Accepts connections from a socket that is already bound. The server closes the socket when it stops."""
        self._server = await asyncio.get_running_loop().create_server(
            lambda: HttpConnection(self._state), sock=listener, backlog=self._state.limits.backlog
        )

    async def stop(self, seconds: float, at_once: asyncio.Event | None = None) -> None:
        """Stops accepting connections, closes idle connections, and waits for requests until `seconds` are over or
        `at_once` is set.

        If requests remain, cancels the tasks of the requests, and the application answers with 503.
        """
        if self._server is not None:
            self._server.close()
        for connection in list(self._state.connections):
            connection.stop()
        loop = asyncio.get_running_loop()
        waits = [loop.create_task(self._state.wait_until_empty())]
        if at_once is not None:
            waits.append(loop.create_task(at_once.wait()))  # type: ignore[arg-type]
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in (*waits, *self._state.tasks):
            task.cancel()
