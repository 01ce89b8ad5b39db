"""Implements the smallest client of both interfaces. The client keeps one connection, does not retry, and distinguishes
a refusal from a missing answer.

The client calls the services in turn. If one service does not answer, the client uses the other service, as a load
balancer does.
"""

import http.client
import json
import time
from itertools import cycle
from typing import Any

# No request of the service may take this long, even on a busy machine: QUEUE_REQUEST_TIMEOUT_SECONDS in servers.py,
# the wait of a long poll, and a process that is stopped during it.
TIMEOUT_SECONDS = 60
SQS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/20250101/us-east-1/sqs/aws4_request",
}
NATIVE = {"Content-Type": "application/json"}


class NoAnswerError(Exception):
    """The connection broke or the service answered 5xx. The call may or may not have had an effect."""

    def __init__(self, status: int | None, retry_after: str | None = None) -> None:
        super().__init__(status, retry_after)
        self.status = status
        self.retry_after = retry_after


class RefusedError(Exception):
    """The service answered 4xx. The call had no effect."""


class HungError(Exception):
    """Neither the client nor the server sent anything for a minute, which must not happen."""


class Connection:
    """Must not be used by several threads at once. `begun` is the time when the last answered call began."""

    def __init__(self, ports: list[int], first: int = 0) -> None:
        self._ports = cycle(ports[first % len(ports) :] + ports[: first % len(ports)])
        self._http = self._next()
        self.begun = 0.0

    def _next(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", next(self._ports), timeout=TIMEOUT_SECONDS)

    def sqs(self, action: str, **request: Any) -> Any:
        """Calls an action of SQS. Raises NoAnswerError and RefusedError."""
        return self.request("POST", "/", request, {**SQS, "X-Amz-Target": f"AmazonSQS.{action}"})

    def request(self, method: str, path: str, body: Any, headers: dict[str, str] = NATIVE) -> Any:
        """Sends one request and returns its answer. Raises NoAnswerError, RefusedError and HungError."""
        begun = time.time()
        try:
            self._http.request(method, path, json.dumps(body), headers)
            response = self._http.getresponse()
            answer = response.read()
        except TimeoutError:
            raise HungError(path, body) from None
        except (OSError, http.client.HTTPException) as error:
            self._http.close()
            self._http = self._next()
            raise NoAnswerError(None) from error
        if response.status >= 500 or response.status == http.client.REQUEST_TIMEOUT:
            self._http.close()
            self._http = self._next()
            raise NoAnswerError(response.status, response.headers["Retry-After"])
        if response.status >= 400:
            raise RefusedError(answer.decode())
        self.begun = begun
        return json.loads(answer or b"{}")

    def close(self) -> None:
        self._http.close()
