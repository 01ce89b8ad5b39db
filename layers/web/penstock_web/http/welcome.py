"""If the console is off, shows browsers a text at `/`."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.responses import PlainTextResponse

TEXT: Final = """\
Penstock: SQS, SNS, schedules and an event bus on PostgreSQL.

Use this address as the endpoint (endpoint_url) of AWS SDKs. QUEUE_ACCESS decides whether requests need signatures.
The REST API is below /v1, and /v1/openapi.json describes it. The console is off: QUEUE_CONSOLE turns it on.
"""

router = APIRouter(include_in_schema=False)


@router.get("/")
async def welcome() -> PlainTextResponse:
    """Returns a text that describes the service. The application needs no other route `GET /`."""
    return PlainTextResponse(TEXT, headers={"vary": "Accept", "x-content-type-options": "nosniff"})
