"""A queue over boto3, in Penstock or in Amazon SQS."""

import inspect
import logging
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NotRequired, Protocol, TypedDict, cast

from .event_loop import EventLoop
from .message import Message
from .settings import Settings

logger = logging.getLogger("penstock_worker")

MAX_BATCH: Final = 10
"""SQS: MaxNumberOfMessages of a receive, and the entries of a batch."""
WAIT_SECONDS: Final = 5
"""A stop waits for the receive that is under way, and many platforms kill a process after 10 seconds."""
ERROR_HEADER: Final = "X-Penstock-Error"
# What SQS and Penstock call a message that was deleted, or whose receipt handle is not the latest any more.
_LOST: Final = {"MessageNotInflight", "ReceiptHandleIsInvalid", "InvalidParameterValue"}
_ATTRIBUTES: Final = ["ApproximateReceiveCount", "AWSTraceHeader", "MessageGroupId"]


class ReceivedMessage(TypedDict):
    """The members of a received message that a worker reads."""

    MessageId: str
    ReceiptHandle: str
    Body: str
    Attributes: NotRequired[dict[str, str]]
    MessageAttributes: NotRequired[dict[str, dict[str, object]]]


class Response(TypedDict, total=False):
    """The members of responses that a worker reads."""

    QueueUrl: str
    Messages: list[ReceivedMessage]
    Failed: list[dict[str, str]]


class Events(Protocol):
    def register(self, event_name: str, handler: Callable[..., None]) -> None: ...
    def unregister(self, event_name: str, handler: Callable[..., None]) -> None: ...


class Meta(Protocol):
    events: Events


class Client(Protocol):
    """The members of boto3's client for SQS that a worker uses."""

    meta: Meta

    def get_queue_url(self, **request: object) -> Response: ...
    def receive_message(self, **request: object) -> Response: ...
    def delete_message(self, **request: object) -> Response: ...
    def change_message_visibility(self, **request: object) -> Response: ...
    def change_message_visibility_batch(self, **request: object) -> Response: ...


def encode_header(error: str) -> str:
    """Returns the value of X-Penstock-Error: UTF-8, percent-encoded."""
    return urllib.parse.quote(error)


class SqsQueue:
    """A queue by its name or URL. Raises botocore's error if the queue does not exist."""

    system = "aws_sqs"
    max_messages = MAX_BATCH
    idle_seconds = 0.0  # receives wait

    def __init__(
        self, queue: str, handler: Callable[..., object], settings: Settings, client: object | None = None
    ) -> None:
        self._client = cast("Client", client or _build_client(settings))
        self._handler = handler
        self._settings = settings
        self._wait_seconds = WAIT_SECONDS if settings.wait_seconds is None else int(settings.wait_seconds)
        self._loop = EventLoop()
        self._error = threading.local()
        is_url = queue.startswith(("http://", "https://"))
        self._url = queue if is_url else str(self._client.get_queue_url(QueueName=queue)["QueueUrl"])
        self._is_fifo = self._url.endswith(".fifo")
        self._client.meta.events.register("before-call.sqs.ChangeMessageVisibility", self._add_header)

    def receive(self, count: int) -> list[Message]:
        response = self._client.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=count,
            WaitTimeSeconds=self._wait_seconds,
            VisibilityTimeout=self._settings.visibility_timeout,
            MessageSystemAttributeNames=_ATTRIBUTES,
            MessageAttributeNames=["All"],
        )
        return [self._read(message) for message in response.get("Messages", [])]

    def handle(self, message: Message) -> None:
        result = self._handler(message)
        if inspect.iscoroutine(result):
            self._loop.run(result)

    def delete(self, message: Message) -> None:
        self._client.delete_message(QueueUrl=self._url, ReceiptHandle=message.receipt_handle)

    def extend(self, messages: Sequence[Message], seconds: int) -> list[Message]:
        lost = []
        for message, code in self._change_visibility(messages, seconds):
            if code in _LOST:
                lost.append(message)
            else:
                logger.warning("the visibility of message %s could not be extended: %s", message.id, code)
        return lost

    def fail(self, message: Message, error: str, pause_seconds: int) -> None:
        self._error.text = error
        try:
            self._client.change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=message.receipt_handle, VisibilityTimeout=pause_seconds
            )
        finally:
            self._error.text = None

    def release(self, messages: Sequence[Message]) -> None:
        for message, code in self._change_visibility(messages, 0):
            logger.warning("message %s could not be returned: %s", message.id, code)

    def close(self) -> None:
        self._client.meta.events.unregister("before-call.sqs.ChangeMessageVisibility", self._add_header)
        self._loop.close()

    def _read(self, message: ReceivedMessage) -> Message:
        system = message.get("Attributes", {})
        attributes = {
            name: value.get("StringValue", value.get("BinaryValue"))
            for name, value in message.get("MessageAttributes", {}).items()
        }
        return Message(
            id=message["MessageId"],
            body=message["Body"],
            receive_count=int(system.get("ApproximateReceiveCount", 1)),
            attributes=attributes,
            group_id=system.get("MessageGroupId") if self._is_fifo else None,
            trace_header=system.get("AWSTraceHeader"),
            receipt_handle=message["ReceiptHandle"],
        )

    def _change_visibility(self, messages: Sequence[Message], seconds: int) -> Iterator[tuple[Message, str]]:
        """Yields each refused message with the error's code."""
        for start in range(0, len(messages), MAX_BATCH):
            batch = messages[start : start + MAX_BATCH]
            entries = [
                {"Id": str(number), "ReceiptHandle": message.receipt_handle, "VisibilityTimeout": seconds}
                for number, message in enumerate(batch)
            ]
            response = self._client.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)
            for refused in response.get("Failed", []):
                yield batch[int(refused["Id"])], refused["Code"]

    def _add_header(self, params: Mapping[str, dict[str, str]], **_: object) -> None:
        """Adds the cause before botocore signs the request. botocore calls hooks in the thread of the request."""
        error = getattr(self._error, "text", None)
        if error is not None:
            params["headers"][ERROR_HEADER] = encode_header(error)


def _build_client(settings: Settings) -> object:
    """Makes a client with a connection for each handler, the receive and the heartbeat. The environment and AWS's files
    configure it."""
    import boto3
    from botocore.config import Config

    client: object = boto3.client("sqs", config=Config(max_pool_connections=settings.concurrency + 2))
    return client
