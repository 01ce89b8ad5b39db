"""Decides which callers may read /metrics, by QUEUE_ACCESS and QUEUE_METRICS_TOKEN. /metrics contains all accounts'
queue names.

off       everyone; with a token set, who sends it
presence  who sends any credentials; with a token set, who sends it
sigv4     a caller with the token, or with a bearer key of QUEUE_ACCOUNT_ID that may `penstock:GetMetrics`;
          such a key of another account reads only the lines of its queues
"""

import hmac
from typing import Final

from fastapi import Request

from penstock.effects import Operation
from penstock.errors import InvalidClientTokenId, MissingAuthenticationToken
from penstock.management.rights import require
from penstock_web.routing.runner import OperationRunner

RIGHT: Final = require("penstock:GetMetrics")
"""Names the right to read /metrics, which reports on all accounts."""


async def admit_scraper(request: Request) -> str | None:
    """Returns the account whose lines the caller may read, or None if the caller may read all lines.

    Raises the error for a refused request of /metrics.
    """
    runner = OperationRunner(request)
    settings = runner.context.environment.settings
    token = settings.queue_metrics_token
    if token and sends_token(request, token):
        return None
    if token and settings.queue_access != "sigv4":
        await runner.run(refuse(request))
    await runner.admit(RIGHT)
    account = runner.context.account_id
    if settings.queue_access != "sigv4" or account == settings.queue_account_id:
        return None
    return account


def sends_token(request: Request, token: str) -> bool:
    """Returns whether the request has `Authorization: Bearer` with this token."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        given.strip().encode("latin-1"), token.encode("utf-8", "surrogateescape")
    )


def refuse(request: Request) -> Operation[None]:
    """Raises the error for a wrong or missing token. The check is an operation, because its errors are counted."""
    yield from ()
    raise InvalidClientTokenId if "authorization" in request.headers else MissingAuthenticationToken
