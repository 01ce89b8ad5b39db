"""Calls the target of a mapping with an event: a function by Lambda's Invoke, or a URL by a POST as webhooks are.

Invoke goes to QUEUE_LAMBDA_ENDPOINT and is signed if this process has credentials of AWS and botocore; emulators take
unsigned requests. Source: "Invoke" (AWS Lambda API reference),
https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
"""

import asyncio
from time import time
from typing import Final, NamedTuple
from urllib.parse import quote
from uuid import uuid4

from penstock.delivery.webhooks.connection import Answer
from penstock.delivery.webhooks.endpoint import Endpoint, EndpointRefused, parse_endpoint
from penstock.delivery.webhooks.guard import EVERY_NETWORK, AddressGuard, read_networks
from penstock.delivery.webhooks.request import EVENT, Delivery, read_secrets, request_bytes
from penstock.delivery.webhooks.sender import Sender
from penstock.settings import Settings

from .targets import FunctionArn, is_url, parse_function

KEPT_BYTES: Final = 1_048_576
"""Of an answer: batchItemFailures of 10,000 messages have 600 KB."""
FUNCTION_ERROR: Final = b"x-amz-function-error"
THROTTLED: Final = 429


class Failure(Exception):  # noqa: N818 - named for the event
    """The target did not take the batch. The text is for who reads LastProcessingResult."""


class Throttled(Failure):
    """The function has no room for another invocation, or cannot be reached."""


class Invoker:
    """Calls targets, in one event loop; `close` ends its connections."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._functions = Sender(AddressGuard(EVERY_NETWORK), kept_bytes=KEPT_BYTES, keeps_private=True)
        guard = AddressGuard(read_networks(settings.webhook_allow_cidrs))
        self._urls = Sender(guard, kept_bytes=KEPT_BYTES, keeps_private=True)
        self._secrets = read_secrets(settings.webhook_signing_secret)
        self._credentials: object = None

    async def close(self) -> None:
        """Ends all connections."""
        await self._functions.close()
        await self._urls.close()

    async def invoke(self, target: str, account_id: str, region: str, event: bytes, seconds: float) -> bytes:
        """The body of the answer. Raises Failure."""
        try:
            if is_url(target):
                return await self._post(target, account_id, event, seconds)
            function = parse_function(target, account_id, region)
            assert function is not None  # noqa: S101 - it was parsed when the mapping was made
            return await self._invoke(function, event, seconds)
        except TimeoutError as error:
            raise Failure(f"no answer within {seconds:.0f} s") from error
        except EndpointRefused as error:
            raise Failure(str(error)) from error
        except OSError as error:
            raise Throttled("the target cannot be reached") from error

    async def _post(self, url: str, account_id: str, event: bytes, seconds: float) -> bytes:
        endpoint = parse_endpoint(url)
        delivery = Delivery(
            0, account_id, "", url, EVENT, uuid4(), None, None, raw=True, policy=None, attempts=0, body=event.decode()
        )  # fmt: skip
        request = request_bytes(delivery, endpoint, self._secrets, int(time()))
        return _checked(await self._urls.post(endpoint, request, seconds, account_id))

    async def _invoke(self, function: FunctionArn, event: bytes, seconds: float) -> bytes:
        path = f"/2015-03-31/functions/{quote(function.name)}/invocations"
        query = f"?Qualifier={quote(function.qualifier)}" if function.qualifier else ""
        url = self._settings.queue_lambda_endpoint.rstrip("/") + path + query
        endpoint = parse_endpoint(url)
        headers = {"Content-Type": "application/json", "X-Amz-Invocation-Type": "RequestResponse"}
        if self._credentials is None:
            self._credentials = await asyncio.to_thread(_find_credentials)
        if self._credentials:
            headers |= await asyncio.to_thread(
                _signed, self._credentials, function.region, url, event, headers
            )
        answer = await self._functions.post(
            endpoint, _request(endpoint, headers, event), seconds, function.account_id
        )
        body = _checked(answer)
        if FUNCTION_ERROR in answer.headers:
            raise Failure("the function failed")
        return body


class _NoCredentials(NamedTuple):
    """This process has none. False, as an empty tuple is."""


def _find_credentials() -> object:
    """Credentials of AWS in the usual places; without botocore there are none."""
    try:
        from botocore.session import get_session  # noqa: PLC0415 - optional, and takes 0.1 s
    except ModuleNotFoundError:
        return _NoCredentials()
    return get_session().get_credentials() or _NoCredentials()


def _signed(
    credentials: object, region: str, url: str, event: bytes, headers: dict[str, str]
) -> dict[str, str]:
    """The headers of Signature Version 4."""
    from botocore.auth import SigV4Auth  # noqa: PLC0415
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415

    request = AWSRequest("POST", url, data=event, headers=headers)
    SigV4Auth(credentials, "lambda", region).add_auth(request)
    return dict(request.headers.items())


def _request(endpoint: Endpoint, headers: dict[str, str], body: bytes) -> bytes:
    lines = [f"POST {endpoint.target} HTTP/1.1", f"Host: {endpoint.host_header}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "\r\n"]).encode() + body


def _checked(answer: Answer) -> bytes:
    """The body of an answer of success. Raises Failure."""
    if answer.status == THROTTLED:
        raise Throttled("the target has answered 429: too many requests")
    if not 200 <= answer.status < 300:
        raise Failure(f"the target has answered {answer.status}")
    return answer.start or b""
