"""An ASGI application for `benchmarks.costs.supervisors`. It needs only the standard library."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

if os.environ.get("QUEUE_POOL_TIMEOUT_MS") == "wrong":
    raise RuntimeError("this application does not start")

Message = dict[str, Any]


async def app(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Answers every request with 200, and confirms the server's lifespan events."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})
