"""Observes a REST API request and the response for the access log."""

from http import HTTPStatus
from time import perf_counter
from typing import Final

from starlette.types import Message, Receive, Scope, Send

from penstock.context import find_client_address
from penstock.settings import Settings
from penstock_web.routing.request_id import KEY
from penstock_web.routing.runner import RUNNER_KEY, OperationRunner

from .lines import Answered
from .writer import AccessLog

HEALTH_ROUTES: Final = ("/livez", "/readyz")


class LoggedExchange:
    """`receive` and `send` wrap ASGI's functions and count the bodies' bytes. `end` logs the request."""

    def __init__(self, log: AccessLog, scope: Scope, receive: Receive, send: Send) -> None:
        self._log = log
        self._scope = scope
        self._receive = receive
        self._send = send
        self._started_at = perf_counter()
        self._status: int | None = None
        self._request_bytes = self._response_bytes = 0

    async def receive(self) -> Message:
        """Returns the body's next part."""
        message = await self._receive()
        self._request_bytes += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        """Sends the head of the response or a part of the body."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
        self._response_bytes += len(message.get("body", b""))
        await self._send(message)

    def end(self, route: str, settings: Settings) -> None:
        """Logs the request and the route's template. The log omits successful health checks."""
        if route in HEALTH_ROUTES and self._status == HTTPStatus.OK:
            return
        scope = self._scope
        runner: OperationRunner | None = scope.get(RUNNER_KEY)
        peer, _ = scope.get("client") or ("", 0)
        answered = Answered(
            scope["method"],
            route,
            scope.get(KEY),
            self._status,
            perf_counter() - self._started_at,
            self._request_bytes,
            self._response_bytes,
            find_client_address(dict(scope["headers"]), peer, settings),
        )
        self._log.add(answered, None if runner is None else runner.context)
