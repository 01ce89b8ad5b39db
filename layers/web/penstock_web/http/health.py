"""Reports liveness and readiness to Kubernetes, load balancers and people. Neither check needs credentials.

GET /livez    200, also while the database is away: a restart would not help. 503 when database calls do not end,
              although they are long past their deadline and the database accepts a new connection
GET /readyz   200 {"status":"ok"} when the database can be written to, 200 {"status":"degraded","writes":"disk full"}
              when its disk is full, else 503 {"status":"degraded","reason":…}. A full disk affects all processes, and
              reads and purges still work, so a load balancer must not take the processes out

With QUEUE_LOCALSTACK_HEALTH, for scripts that wait for LocalStack (its page "Internal Endpoints"); always 200:
GET /_localstack/health   {"services":{"sqs":"running"},"edition":"penstock","version":…}, "error" as /readyz has it
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec
from fastapi import APIRouter, Response

from penstock import __version__
from penstock.actions import SERVICES
from penstock.postgres.statement import Row
from penstock_web.routing.openapi import Responses, describe_json_responses
from penstock_web.routing.routes import json_response

CHECK_TIMEOUT_SECONDS = 2.0
# The query returns true on a standby and on a read-only database.
READ_ONLY_QUERY = "select current_setting('transaction_read_only') = 'on'"


class Life(msgspec.Struct):
    """Describes the response of /livez. `region` is the region whose queues REST, SQL and the console show
    (QUEUE_REGION)."""

    status: Literal["ok", "stuck"]
    version: str
    region: str


class HealthState(msgspec.Struct, omit_defaults=True):
    """Describes the response of /readyz. `reason` explains why DATABASE_URL cannot be used. `writes` is `disk full` if
    the database answers and its disk is full."""

    status: Literal["ok", "degraded"]
    reason: str = ""
    writes: str = ""


class Readiness:
    """Checks that the database accepts writes, with one query at a time for all clients. `explain` returns the probable
    reason for a failed query. `probe` returns why the database refuses changes, or "".
    """

    def __init__(
        self,
        fetch: Callable[[str], Awaitable[list[Row]]],
        explain: Callable[[], str],
        probe: Callable[[], Awaitable[str]],
    ) -> None:
        self._fetch = fetch
        self._explain = explain
        self._probe = probe
        self._check: asyncio.Task[HealthState] | None = None

    async def __call__(self) -> HealthState:
        """Returns whether the database accepts writes, and the reason if not, after at most 2 s. A hanging query has a
        separate time limit.
        """
        if self._check is None or self._check.done():
            self._check = asyncio.get_running_loop().create_task(self._find_state())
        await asyncio.wait([self._check], timeout=CHECK_TIMEOUT_SECONDS)
        return self._check.result() if self._check.done() else HealthState("degraded", self._explain())

    async def _find_state(self) -> HealthState:
        try:
            ((read_only,),) = await self._fetch(READ_ONLY_QUERY)
        except Exception:  # noqa: BLE001 - after any error the service is not ready
            return HealthState("degraded", self._explain())
        if read_only:
            return HealthState("degraded", "the database is read-only, or a standby")
        refusal = await self._probe()
        return HealthState("degraded" if refusal else "ok", writes=refusal)


def build_health_router(
    fetch: Callable[[str], Awaitable[list[Row]]],
    is_stuck: Callable[[], Awaitable[bool]],
    explain: Callable[[], str],
    probe: Callable[[], Awaitable[str]],
    *,
    region: str,
    localstack: bool,
) -> APIRouter:
    """Returns the routes. `fetch` runs a query on a pooled connection. `is_stuck` returns whether only a restart helps.
    `explain` and `probe` have the same meaning as in `Readiness`.
    """
    router = APIRouter(tags=["health"])
    find_state = Readiness(fetch, explain, probe)

    @router.get("/livez", response_class=Response, responses=describe_states(Life, "Database calls do not end."))
    async def livez() -> Response:
        """Responds that the process works, whether or not the database works."""
        stuck = await is_stuck()
        return json_response(Life("stuck" if stuck else "ok", __version__, region), 503 if stuck else 200)

    @router.get(
        "/readyz",
        response_class=Response,
        responses=describe_states(HealthState, "DATABASE_URL cannot be used, or is read-only."),
    )
    async def readyz() -> Response:
        """Responds that the database accepts writes, or that only its full disk prevents writes."""
        state = await find_state()
        return json_response(state, 503 if state.reason else 200)

    if localstack:

        @router.get("/_localstack/health")
        async def services() -> dict[str, Any]:
            """Lists the services and their state. The response names Penstock, and copies no other part of LocalStack's
            response."""
            state = "running" if (await find_state()).status == "ok" else "error"
            return {"services": dict.fromkeys(SERVICES, state), "edition": "penstock", "version": __version__}

    return router


def describe_states(kind: type[msgspec.Struct], unavailable: str) -> Responses:
    """Describes both responses for the OpenAPI document. `unavailable` describes the response with status 503."""
    responses = describe_json_responses(kind, statuses=(200, 503))
    responses[503]["description"] = unavailable
    return responses
