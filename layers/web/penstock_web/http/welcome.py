"""Shows browsers a text at `/` if the console is off."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.responses import PlainTextResponse

TEXT: Final = """\
Penstock: SQS, SNS and schedules on PostgreSQL.

This is its endpoint for AWS SDKs (endpoint_url), which sign or leave out signatures as QUEUE_ACCESS says.
The REST API is below /v1, and /v1/openapi.json describes it. The console is off: QUEUE_CONSOLE turns it on.
"""

router = APIRouter(include_in_schema=False)


@router.get("/")
async def welcome() -> PlainTextResponse:
    """Returns a text that describes the service. The application needs no other `GET /` here."""
    return PlainTextResponse(TEXT, headers={"vary": "Accept", "x-content-type-options": "nosniff"})
