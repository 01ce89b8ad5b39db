"""Calls SQS with one deployment, one protocol and one caller."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from itertools import count
from typing import Any, NamedTuple

from botocore.exceptions import ClientError
from botocore.parsers import RpcV2CBORParser

from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import DEFAULT, Deployments
from tests.support.conformance.sdk_clients import ACCOUNT, REGION, Response, build_client
from tests.support.wait import wait_until

_numbers = count(1)
_client = cache(build_client)

Message = Mapping[str, Any]

POLL_FUNCTIONS = "queue.(poll|ready)_queues"
"""A regular expression for the SQL functions that a long poll on an empty queue calls."""


class Refusal(NamedTuple):
    """An error response. `type` is JSON's `__type` without its namespace, and empty for Query."""

    code: str
    status: int
    fault: str
    type: str | None
    message: str


@dataclass
class Sqs:
    """Calls one deployment in one protocol for one caller. `settings` contains environment variables of the service."""

    deployments: Deployments
    clock: Clock
    deployment: str
    protocol: str
    account: str = "test"
    region: str = REGION
    secret: str = "secret"
    settings: Mapping[str, str] = field(default_factory=lambda: DEFAULT)

    # --- who and where -----------------------------------------------------------------------------------------------
    @property
    def endpoint_url(self) -> str:
        return self.deployments.endpoint_url(self.deployment, self.settings)

    @property
    def client(self) -> Any:
        return _client(self.protocol, self.endpoint_url, self.account, self.region, self.secret)[0]

    @property
    def response(self) -> Response:
        return _client(self.protocol, self.endpoint_url, self.account, self.region, self.secret)[1]

    def caller(self, account: str | None = None, region: str | None = None) -> Sqs:
        """Returns another caller in the same deployment."""
        return self._other(account=account or self.account, region=region or self.region)

    def with_key(self, key_id: str, secret: str) -> Sqs:
        """Returns a caller with the given access key in the same deployment."""
        return self._other(account=key_id, secret=secret)

    def with_settings(self, settings: Mapping[str, str]) -> Sqs:
        return self._other(settings=settings)

    def _other(self, **changes: Any) -> Sqs:
        return Sqs(**{**self.__dict__, **changes})

    # --- queues ------------------------------------------------------------------------------------------------------
    @staticmethod
    def name(suffix: str = "") -> str:
        """Returns an unused name."""
        return f"queue-{next(_numbers)}{suffix}"

    def create(self, suffix: str = "", **attributes: str) -> str:
        """Creates a queue and returns its URL. Attributes have AWS's names."""
        return str(self.client.create_queue(QueueName=self.name(suffix), Attributes=attributes)["QueueUrl"])

    def create_fifo(self, **attributes: str) -> str:
        """Creates a FIFO queue and returns its URL."""
        return self.create(".fifo", FifoQueue="true", **attributes)

    def attributes(self, url: str, *names: str) -> dict[str, str]:
        """Returns the named attributes of the queue, or all of them if `names` is empty."""
        response = self.client.get_queue_attributes(QueueUrl=url, AttributeNames=list(names or ("All",)))
        return dict(response.get("Attributes", {}))

    def arn(self, url: str) -> str:
        return self.attributes(url, "QueueArn")["QueueArn"]

    def counts(self, url: str) -> tuple[int, int, int]:
        """Returns the numbers of visible, in-flight and delayed messages."""
        found = self.attributes(url, *(f"ApproximateNumberOfMessages{kind}" for kind in ("", "NotVisible", "Delayed")))
        return tuple(int(found[f"ApproximateNumberOfMessages{kind}"]) for kind in ("", "NotVisible", "Delayed"))  # type: ignore[return-value]

    def until_cleaned(self, url: str) -> None:
        """Runs maintenance until the queue is empty. One run is not enough, because it skips locked rows."""
        arn = self.arn(url)

        def empty() -> bool:
            self.clock.maintain(arn)
            return self.counts(url) == (0, 0, 0)

        wait_until(empty)

    # --- messages ----------------------------------------------------------------------------------------------------
    def send(self, url: str, body: str = "body", **more: Any) -> dict[str, Any]:
        return dict(self.client.send_message(QueueUrl=url, MessageBody=body, **more))

    def send_all(self, url: str, *bodies: str, **more: Any) -> None:
        for body in bodies:
            self.send(url, body, **more)

    def poll(self, url: str, most: int = 10, **more: Any) -> list[dict[str, Any]]:
        """Calls ReceiveMessage once. A short poll may miss messages."""
        response = self.client.receive_message(QueueUrl=url, MaxNumberOfMessages=most, **more)
        return list(response.get("Messages", []))

    def receive(self, url: str, number: int = 1, **more: Any) -> list[dict[str, Any]]:
        """Receives exactly `number` messages with one or more requests."""
        found: list[dict[str, Any]] = []

        def enough() -> bool:
            found.extend(self.poll(url, min(10, number - len(found)), **more))
            return len(found) == number

        wait_until(enough)
        return found

    def receive_one(self, url: str, **more: Any) -> dict[str, Any]:
        return self.receive(url, 1, **more)[0]

    def delete(self, url: str, message: Message) -> None:
        self.client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    @contextmanager
    def failing(self, header: str, event: str = "before-sign") -> Iterator[None]:
        """Adds X-Penstock-Error to changes of the visibility, by an event of botocore."""

        def add(request: Any, **_: Any) -> None:
            request.headers["X-Penstock-Error"] = header

        events = self.client.meta.events
        names = [f"{event}.sqs.ChangeMessageVisibility{kind}" for kind in ("", "Batch")]
        for name in names:
            events.register(name, add)
        try:
            yield
        finally:
            for name in names:
                events.unregister(name, add)

    def hide(self, url: str, message: Message, seconds: int) -> None:
        self.client.change_message_visibility(
            QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds
        )

    # --- errors ------------------------------------------------------------------------------------------------------
    def refusal(self, method: str, **parameters: Any) -> Refusal:
        """Makes a call that must fail without storing data, and returns the call's error."""
        before = self.clock.now()
        try:
            response = getattr(self.client, method)(**parameters)
        except ClientError as error:
            assert self.clock.stored_since(before) == 0
            return self._refusal(error)
        raise AssertionError(f"{method} was not refused: {response}")

    def code(self, method: str, **parameters: Any) -> str:
        """Returns an error's Query code."""
        return self.refusal(method, **parameters).code

    def _refusal(self, error: ClientError) -> Refusal:
        response = self.response
        assert response.headers is not None
        assert response.headers["x-amzn-requestid"]
        return read_refusal(self.protocol, response.status, response.headers, response.body)

    # --- time --------------------------------------------------------------------------------------------------------
    def while_waiting(self, url: str, action: Any, *, sign: str = POLL_FUNCTIONS, **more: Any) -> list[dict[str, Any]]:
        """Calls `action` while a long poll on an empty queue waits. Returns the long poll's messages.

        Without WaitTimeSeconds in `more`, the queue's setting applies. `sign` is the SQL function whose call shows that
        the poll waits.
        """
        with ThreadPoolExecutor(1) as pool:
            began = self.clock.now()
            polling = pool.submit(self.poll, url, **more)
            wait_until(lambda: self.clock.is_called(sign, began))
            action()
            return polling.result()


def read_refusal(protocol: str, status: int, headers: Mapping[str, str], body: bytes) -> Refusal:
    """Reads an error response in any protocol. REST-JSON contains the type, but no other code and no fault."""
    if protocol == "rest-json":
        kind = headers["x-amzn-errortype"]
        fault = "Sender" if status < 500 else "Receiver"
        return Refusal(kind, status, fault, kind, json.loads(body)["Message"])
    if protocol == "cbor":
        return _read_cbor_refusal(status, headers, body)
    if protocol == "json":
        document = json.loads(body)
        code, fault = headers["x-amzn-query-error"].split(";")
        return Refusal(code, status, fault, document["__type"].rpartition("#")[2], document["message"])
    text = body.decode()
    found = {tag: re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("Code", "Type", "Message")}
    assert [len(values) for values in found.values()] == [1, 1, 1]
    return Refusal(found["Code"][0], status, found["Type"][0], None, unescape(found["Message"][0]))


def _read_cbor_refusal(status: int, headers: Mapping[str, str], body: bytes) -> Refusal:
    """Reads an error in CBOR. EventBridge Scheduler has no Query codes, and its message has another name."""
    assert headers["smithy-protocol"] == "rpc-v2-cbor"
    assert headers["content-type"] == "application/cbor"
    document = read_cbor(body)
    kind = document["__type"].rpartition("#")[2]
    fault = "Sender" if status < 500 else "Receiver"
    code, _, fault = headers.get("x-amzn-query-error", f"{kind};{fault}").partition(";")
    return Refusal(code, status, fault, kind, document["message" if "message" in document else "Message"])


def read_cbor(body: bytes) -> Any:
    """Decodes a body with botocore's parser."""
    parser = RpcV2CBORParser()
    return parser.parse_data_item(parser.get_peekable_stream_from_bytes(body))


def other_deployment(sqs: Sqs) -> Sqs:
    """Returns the same caller in the other deployment."""
    return Sqs(**{**sqs.__dict__, "deployment": "lambda" if sqs.deployment == "container" else "container"})


__all__ = ["ACCOUNT", "REGION", "Message", "Refusal", "Sqs", "other_deployment", "read_cbor", "read_refusal"]
