"""Invokes functions at QUEUE_LAMBDA_ENDPOINT.

Source: "Invoke" (AWS Lambda API reference), https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
"""

import asyncio
from collections.abc import Mapping
from typing import Final, Literal

from penstock.aws.function_arn import FunctionArn
from penstock.delivery.http.connection import Response
from penstock.delivery.http.guard import EVERY_NETWORK, AddressGuard
from penstock.delivery.http.sender import Sender
from penstock.endpoint import Endpoint, parse_endpoint

from .request import build_url, forget_missing_credentials, sign_request

InvocationType = Literal["RequestResponse", "Event"]
"""Lambda responds after the function ends (RequestResponse), or before the function runs (Event)."""

MAX_RESPONSE_BYTES: Final = 8 * 1_048_576
"""The limit of a response: at most 6 MB from a function ("payload limit", Lambda quotas), plus a head and a margin."""
FUNCTION_ERROR: Final = b"x-amz-function-error"
FORBIDDEN: Final = 403
THROTTLED: Final = 429


class FunctionClient:
    """Invokes functions in one event loop. Keeps `kept_bytes` of each response. `close` closes the connections."""

    def __init__(self, address: str, kept_bytes: int) -> None:
        self._address = address
        self._sender = Sender(
            AddressGuard(EVERY_NETWORK),
            kept_bytes=kept_bytes,
            keeps_private=True,
            drain_seconds=None,
            dropped_bytes=MAX_RESPONSE_BYTES,
        )

    async def close(self) -> None:
        await self._sender.close()

    async def invoke(self, function: FunctionArn, event: bytes, seconds: float, kind: InvocationType) -> Response:
        """Returns the response. Raises EndpointRefused, TimeoutError and OSError."""
        url = build_url(self._address, function, "invocations")
        endpoint = parse_endpoint(url)
        headers: Mapping[str, str] = {"Content-Type": "application/json", "X-Amz-Invocation-Type": kind}
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        async with asyncio.timeout(seconds):  # the search for new credentials can be slow
            headers = await asyncio.to_thread(sign_request, "POST", url, function.region, event, headers)
        response = await self._sender.post(
            endpoint, _request(endpoint, headers, event), ends - loop.time(), function.account_id
        )
        if response.status == FORBIDDEN:
            forget_missing_credentials()
        return response


def _request(endpoint: Endpoint, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"POST {endpoint.target} HTTP/1.1", f"Host: {endpoint.host_header}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "\r\n"]).encode() + body
