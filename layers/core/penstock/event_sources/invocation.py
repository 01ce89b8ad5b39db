"""Sends an event to a mapping's target: a function (Lambda's Invoke) or a URL (a POST like a webhook)."""

from time import time
from typing import Final
from uuid import uuid4

from penstock.aws.function_arn import FunctionArn, parse_function
from penstock.aws.json_text import decode_json
from penstock.delivery.delivery import EVENT, Delivery
from penstock.delivery.functions.client import FUNCTION_ERROR, MAX_RESPONSE_BYTES, THROTTLED, FunctionClient
from penstock.delivery.http.connection import Response
from penstock.delivery.http.guard import AddressGuard, read_networks
from penstock.delivery.http.outcome import describe_failure
from penstock.delivery.http.request import read_secrets, request_bytes
from penstock.delivery.http.sender import Sender
from penstock.delivery.outcome import MAX_ERROR_CHARACTERS
from penstock.endpoint import EndpointRefused, parse_endpoint
from penstock.settings import Settings

from .targets import is_url

KEPT_BYTES: Final = 1_048_576
"""The limit of a response: batchItemFailures of 10,000 messages take 600 KB."""


class Failure(Exception):  # noqa: N818 - named for the event
    """The target did not accept the batch. The mapping's last result shows the error's text.

    `cause` is the reason why the worker could not connect, or is empty. Only the log shows `cause`, which can name
    hosts inside the network. `error` is the text that is stored as the failure of each message: the function's own
    error, or the same text as the last result.
    """

    def __init__(self, text: str, cause: str = "", error: str = "") -> None:
        super().__init__(text)
        self.cause = cause
        self.error = error or text


class FunctionThrottled(Failure):
    """The function has no capacity for another invocation, or cannot be reached."""


class Invoker:
    """Calls targets in one event loop. `close` closes the connections."""

    def __init__(self, settings: Settings) -> None:
        self._functions = FunctionClient(settings.queue_lambda_endpoint, KEPT_BYTES)
        guard = AddressGuard(read_networks(settings.webhook_allow_cidrs))
        self._urls = Sender(
            guard, kept_bytes=KEPT_BYTES, keeps_private=True, drain_seconds=None, dropped_bytes=MAX_RESPONSE_BYTES
        )
        self._secrets = read_secrets(settings.webhook_signing_secret)

    async def close(self) -> None:
        await self._functions.close()
        await self._urls.close()

    async def invoke(self, target: str, account_id: str, region: str, event: bytes, seconds: float) -> bytes:
        """Returns the response's body. Raises Failure."""
        try:
            if is_url(target):
                return await self._post(target, account_id, event, seconds)
            function = parse_function(target, account_id, region)
            assert function is not None  # noqa: S101 - it was parsed when the mapping was made
            return await self._invoke(function, event, seconds)
        except TimeoutError as error:
            if error.args:  # the worker could not connect within three seconds
                raise _report_unreached(target, error) from error
            raise Failure(f"no response within {seconds:.0f} s") from error
        except EndpointRefused as error:
            if is_url(target):
                raise Failure(str(error), str(error)) from error
            raise _report_unreached(target, error) from error
        except OSError as error:
            raise _report_unreached(target, error) from error

    async def _post(self, url: str, account_id: str, event: bytes, seconds: float) -> bytes:
        endpoint = parse_endpoint(url)
        delivery = Delivery(
            0, account_id, "", url, EVENT, uuid4(), None, None, raw=True, policy=None, attempts=0, body=event.decode()
        )  # fmt: skip
        request = request_bytes(delivery, endpoint, self._secrets, int(time()))
        return _check_response(await self._urls.post(endpoint, request, seconds, account_id))

    async def _invoke(self, function: FunctionArn, event: bytes, seconds: float) -> bytes:
        response = await self._functions.invoke(function, event, seconds, "RequestResponse")
        body = _check_response(response)
        if FUNCTION_ERROR in response.headers:
            raise Failure("the function failed", error=read_function_error(body))
        return body


def read_function_error(body: bytes) -> str:
    """Returns `errorType: errorMessage` of a function's error, or an empty text if the body has neither.

    Source: "Lambda function errors", https://docs.aws.amazon.com/lambda/latest/dg/python-exceptions.html
    """
    try:
        document = decode_json(body)
    except (RecursionError, ValueError):
        return ""
    members = document if isinstance(document, dict) else {}
    texts = (members.get("errorType"), members.get("errorMessage"))
    return ": ".join(text for text in texts if isinstance(text, str) and text)


def _report_unreached(target: str, error: Exception) -> FunctionThrottled:
    """Returns the failure. The failure's text contains the cause only for a URL, because the cause can contain the host
    name in QUEUE_LAMBDA_ENDPOINT, which accounts must not see."""
    cause = describe_failure(error)[:MAX_ERROR_CHARACTERS]
    text = "the target cannot be reached"
    return FunctionThrottled(f"{text}: {cause}" if is_url(target) else text, cause)


def _check_response(response: Response) -> bytes:
    """Returns the body of a successful response. Raises Failure for a truncated body, because the missing part may
    name failed messages."""
    if response.status == THROTTLED:
        raise FunctionThrottled("the target returned 429: too many requests")
    if not 200 <= response.status < 300:
        raise Failure(f"the target returned {response.status}")
    if not response.is_complete:
        raise Failure("the target's response is incomplete")
    return response.start or b""
