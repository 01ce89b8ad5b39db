"""Builds the application's requests: SNS and SQS in AWS JSON, and Penstock's transactions."""

import random
import string
from collections.abc import Mapping
from time import perf_counter

import msgspec

from benchmarks.load.wire import AUTHORIZATION, Action, Address, Message, Request, Requests

PADDING = "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=4_096))
REGION, ACCOUNT = "us-east-1", "000000000000"


class SessionMessage(msgspec.Struct):
    """Represents the message with number `n` in session `s`, due at `due` (perf_counter)."""

    s: int
    n: int
    due: float
    pad: str = ""


class Published(msgspec.Struct, rename="pascal"):
    """Holds the response of PublishBatch."""

    successful: list[msgspec.Raw] = []
    failed: list[msgspec.Raw] = []


decode_session_message = msgspec.json.Decoder(SessionMessage).decode
read_published = msgspec.json.Decoder(Published).decode


def session_message_body(session: int, number: int, due: float, size: int) -> str:
    """Returns a JSON body of `size` bytes, or a few bytes more."""
    head = f'{{"s":{session},"n":{number},"due":{due:.6f},"pad":"'
    return f'{head}{PADDING[: max(0, size - len(head) - 2)]}"}}'


class ApplicationRequests:
    """Builds requests for the queues and the topic of one run."""

    def __init__(self, address: Address, topic: str) -> None:
        self._address = address
        self._topic = topic
        self._fifo = topic.endswith(".fifo")
        self._publish = self._head("/", "X-Amz-Target: AmazonSNS.PublishBatch")
        self._release = self._head("/", "X-Amz-Target: AmazonSQS.ChangeMessageVisibilityBatch")
        self._transact = self._head("/v1/transactions", "X-Benchmark: queen")

    def _head(self, path: str, extra: str) -> bytes:
        kind = "application/json" if path != "/" else "application/x-amz-json-1.0"
        lines = (
            f"POST {path} HTTP/1.1",
            f"Host: {self._address.host}:{self._address.port}",
            f"Content-Type: {kind}",
            f"Authorization: {AUTHORIZATION}",
            extra,
            "Content-Length: ",
        )
        return "\r\n".join(lines).encode()

    def queue(self, name: str) -> Requests:
        return Requests(Address(self._address.host, self._address.port, name))

    def publish(self, bodies: list[tuple[int, str]]) -> Request:
        """Returns a PublishBatch request for pairs of session and body."""
        entries = [
            {"Id": str(n), "Message": body, "MessageGroupId": f"s{session}"}
            | ({"MessageDeduplicationId": f"{session}-{n}-{perf_counter()}"} if self._fifo else {})
            for n, (session, body) in enumerate(bodies)
        ]
        payload = {"TopicArn": self._topic, "PublishBatchRequestEntries": entries}
        return Request(Action.PUBLISH, with_content_length(self._publish, payload))

    def release(self, url: str, messages: list[Message]) -> Request:
        """Makes received messages visible again."""
        entries = [
            {"Id": str(n), "ReceiptHandle": message.receipt_handle, "VisibilityTimeout": 0}
            for n, message in enumerate(messages)
        ]
        return Request(Action.RELEASE, with_content_length(self._release, {"QueueUrl": url, "Entries": entries}))

    def forward(self, queue: str, message: Message, target: str, content: SessionMessage) -> Request:
        """Acknowledges a message and sends its successor in one transaction."""
        payload = {
            "ack": [{"queue": queue, "receipt": message.receipt_handle}],
            "send": [{"queue": target, "message": {"s": content.s, "n": content.n, "due": content.due}}],
        }
        return Request(Action.TRANSACTION, with_content_length(self._transact, payload))


def with_content_length(head: bytes, payload: Mapping[str, object]) -> bytes:
    body = msgspec.json.encode(payload)
    return b"%s%d\r\n\r\n%s" % (head, len(body), body)
