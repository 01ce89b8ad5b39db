"""The service as one ASGI application.

    POST|GET / and /{account}/{queue} ──► hot_path (raw ASGI); /_aws/sqs/messages too, if it is served
    /schedules, /schedule-groups, /tags ► hot_path: EventBridge Scheduler
    everything else                   ──► FastAPI: /v1 (native REST), /v1/openapi.json, /livez, /readyz

FastAPI's middleware and routing cost more than the whole hot path, so the SQS paths never reach them.
"""

import asyncio
import logging
from collections.abc import MutableMapping
from typing import Any

from starlette.exceptions import HTTPException

from penstock.context import Environment
from penstock.effects import Operation
from penstock.errors import RequestEntityTooLarge, RequestTimeout, ServiceUnavailable
from penstock.gateway import MAXIMUM_BODY_BYTES

from .attendance import Deadlines, Ended, Receive, Visit
from .driver import World, drive
from .health import health_router
from .hot_path import HotPath, Scope, Send
from .native.errors import error_response
from .rest import RestApplication

VISIT = "penstock.visit"

_log = logging.getLogger(__name__)


class Application(RestApplication):
    """Penstock over HTTP, on a world that is open."""

    def __init__(self, environment: Environment, world: World) -> None:
        super().__init__(environment, self._drive)
        self._world = world
        self._deadlines = Deadlines(environment.settings.queue_request_timeout_seconds)
        self._hot_path = HotPath(environment, world, self._deadlines)
        localstack = environment.settings.queue_localstack_health
        self.include_router(health_router(world.pool.fetch, localstack=localstack))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request (or uvicorn's lifespan)."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
        elif self._hot_path.answers(scope["method"], scope["path"]):
            await self._hot_path(scope, receive, send)
        else:
            await self._rest(scope, receive, send)

    async def _rest(self, scope: Scope, receive: Receive, send: Send) -> None:
        """FastAPI, with the same limits as the hot path: no request takes forever, no body is endless."""
        visit = self._deadlines.enter(receive)
        scope[VISIT] = visit
        try:
            await super().__call__(scope, limited(receive), send)
        except Exception as error:  # noqa: BLE001 - Starlette has answered 500 and raises it once more
            _log.debug("answered with 500", exc_info=error)
        except asyncio.CancelledError:
            if visit.ended is not Ended.LEFT:
                ended = RequestTimeout() if visit.ended is Ended.OVERDUE else ServiceUnavailable()
                await error_response(ended)(scope, receive, send)
        finally:
            visit.close()

    async def _drive(self, operation: Operation, scope: Scope) -> Any:
        visit: Visit | None = scope.get(VISIT)
        return await drive(operation, self._world, visit)


def limited(receive: Receive) -> Receive:
    """`receive`, which raises 413 beyond 6 MiB. Starlette's own class, since FastAPI makes others a 400."""
    size = 0

    async def counted() -> MutableMapping[str, Any]:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAXIMUM_BODY_BYTES:
            raise HTTPException(413, RequestEntityTooLarge.default_message, {"connection": "close"})
        return message

    return counted
