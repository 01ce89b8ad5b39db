"""The smallest SQS client: one kept connection, no retries, and it tells a refusal from the lack of an answer."""

from __future__ import annotations

import http.client
import json
from typing import Any

# Longer than any long poll of these tests. Only a hang gets this far.
_TIMEOUT_SECONDS = 30
_HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/20250101/us-east-1/sqs/aws4_request",
}


class NoAnswerError(Exception):
    """The connection broke or the service answered 5xx: the call may have had its effect or not."""

    def __init__(self, status: int | None, retry_after: str | None = None) -> None:
        super().__init__(status, retry_after)
        self.status = status
        self.retry_after = retry_after


class RefusedError(Exception):
    """The service answered 4xx: the call had no effect."""


class SqsConnection:
    """Not for use by several threads at once."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)

    def call(self, action: str, **request: Any) -> Any:
        """Make one call. Raises NoAnswerError and RefusedError."""
        headers = {**_HEADERS, "X-Amz-Target": f"AmazonSQS.{action}"}
        try:
            self._connection.request("POST", "/", json.dumps(request), headers)
            response = self._connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise NoAnswerError(None) from error
        if response.status >= 500:
            raise NoAnswerError(response.status, response.headers["Retry-After"])
        if response.status >= 400:
            raise RefusedError(body.decode())
        return json.loads(body or b"{}")

    def close(self) -> None:
        self._connection.close()
