"""What a browser is shown at `/` where there is no console."""

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
    """Says what this is: the application asks for no other `GET /` here."""
    return PlainTextResponse(TEXT, headers={"vary": "Accept", "x-content-type-options": "nosniff"})
