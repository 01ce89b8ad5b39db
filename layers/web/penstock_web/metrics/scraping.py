"""Checks callers of /metrics by QUEUE_ACCESS and QUEUE_METRICS_TOKEN. /metrics contains all accounts' queue names.

off       admits every caller, or with QUEUE_METRICS_TOKEN only callers with the token
presence  admits callers with any credentials, or with QUEUE_METRICS_TOKEN only callers with the token
sigv4     admits callers with the token, or with a bearer key that has `penstock:GetMetrics`. A key of an
          account other than QUEUE_ACCOUNT_ID can read only the lines of the key's account.
"""

import hmac

from fastapi import Request

from penstock.effects import Operation
from penstock.errors import InvalidClientTokenId, MissingAuthenticationToken
from penstock.management.installation import read_scope
from penstock.management.rights import right_of
from penstock_web.routing.runner import OperationRunner


async def admit_scraper(request: Request) -> str | None:
    """Returns the account whose lines the caller may read, or None if the caller may read all lines. Raises an error
    for a refused caller.
    """
    runner = OperationRunner(request)
    settings = runner.context.environment.settings
    token = settings.queue_metrics_token
    if token and sends_token(request, token):
        return None
    if token and settings.queue_access != "sigv4":
        await runner.run(refuse(request))
    await runner.admit(right_of(read_scope))
    return await runner.run(read_scope(runner.context))


def sends_token(request: Request, token: str) -> bool:
    """Returns whether the request has the header `Authorization: Bearer` with this token."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        credentials.strip().encode("latin-1"), token.encode("utf-8", "surrogateescape")
    )


def refuse(request: Request) -> Operation[None]:
    """Raises the error for a wrong or missing token. The function is an operation so that the runner counts the
    operation's errors.
    """
    yield from ()
    raise InvalidClientTokenId if "authorization" in request.headers else MissingAuthenticationToken
