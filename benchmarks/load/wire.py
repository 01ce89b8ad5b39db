"""Encodes requests and decodes responses of SQS JSON, signs the requests, and creates queues."""

import hashlib
import hmac
import json
import random
import string
import urllib.request
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from time import gmtime, strftime
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

# --- signing ---------------------------------------------------------------------------------------------------------
# Implements Signature Version 4 in a header, as cheaply as a load generator needs it ("Create a signed AWS API
# request", IAM).
#
# The module rounds a signature's time to a second, and computes each day's key once.

REGION = "us-east-1"
SIGNED_HEADERS = "content-type;host;x-amz-date;x-amz-target"


@dataclass(frozen=True, slots=True)
class Key:
    """Holds an access key with the key's account."""

    account: str
    key_id: str
    secret: str


def signature_headers(key: Key, service: str, host: str, content_type: str, target: str, body: bytes) -> str:
    """Returns the header lines X-Amz-Date and Authorization for `POST /` with these headers and this body."""
    at = strftime("%Y%m%dT%H%M%SZ", gmtime())
    scope = f"{at[:8]}/{REGION}/{service}/aws4_request"
    canonical = (
        f"POST\n/\n\ncontent-type:{content_type}\nhost:{host}\nx-amz-date:{at}\nx-amz-target:{target}\n\n"
        f"{SIGNED_HEADERS}\n{sha256(body).hexdigest()}"
    )
    text = f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    signature = hmac.new(signing_key(key.secret, at[:8], service), text.encode(), sha256).hexdigest()
    return (
        f"X-Amz-Date: {at}\r\nAuthorization: AWS4-HMAC-SHA256 Credential={key.key_id}/{scope}, "
        f"SignedHeaders={SIGNED_HEADERS}, Signature={signature}"
    )


@lru_cache(maxsize=64)
def signing_key(secret: str, day: str, service: str) -> bytes:
    """Returns the signing key for a day, a region and a service."""
    key = f"AWS4{secret}".encode()
    for part in (day, REGION, service, "aws4_request"):
        key = hmac.new(key, part.encode(), sha256).digest()
    return key


# --- wire ------------------------------------------------------------------------------------------------------------
# Writes and reads SQS JSON 1.0 over HTTP/1.1 as bytes. The module builds each request once, and decodes only a part of
# each response. A client library uses far more CPU than the service, so a benchmark with a client library would measure
# the library.

ACCOUNT = "000000000000"
CREDENTIAL = f"{ACCOUNT}/20260101/us-east-1/sqs/aws4_request"
CONTENT_TYPE = "application/x-amz-json-1.0"
AUTHORIZATION = f"AWS4-HMAC-SHA256 Credential={CREDENTIAL}, SignedHeaders=host, Signature=00"


class Action(StrEnum):
    """Lists the benchmark's actions with their names in X-Amz-Target."""

    SEND = "SendMessage"
    SEND_BATCH = "SendMessageBatch"
    RECEIVE = "ReceiveMessage"
    DELETE = "DeleteMessage"
    DELETE_BATCH = "DeleteMessageBatch"
    PUBLISH = "PublishBatch"
    RELEASE = "ChangeMessageVisibilityBatch"
    TRANSACTION = "transaction"
    PUT_EVENTS = "PutRawEvents"


@dataclass(frozen=True, slots=True)
class Address:
    """Holds a service's host and port, and a queue that belongs to `owner`. `key` signs requests."""

    host: str
    port: int
    queue: str
    owner: str = ACCOUNT
    key: Key | None = None

    @property
    def queue_url(self) -> str:
        return f"http://{self.host}:{self.port}/{self.owner}/{self.queue}"


@dataclass(frozen=True, slots=True)
class Request:
    """Holds an HTTP request as bytes."""

    action: Action
    data: bytes


@dataclass(frozen=True, slots=True)
class Due:
    """Holds a request of an open loop. The connection writes the request at `at` (perf_counter), or later when the
    connection is free. The latency always counts from `at`, because waiting clients would otherwise hide a stall of the
    service.
    """

    request: Request
    at: float


class Entry(msgspec.Struct, rename="pascal"):
    """Holds an acknowledged entry in a response of SendMessage or SendMessageBatch."""

    message_id: str
    md5_of_body: str = msgspec.field(name="MD5OfMessageBody")


class SendBatchAnswer(msgspec.Struct, rename="pascal"):
    """Holds the response of SendMessageBatch. Only the length of `failed` matters."""

    successful: list[Entry] = []
    failed: list[msgspec.Raw] = []


class DeleteBatchAnswer(msgspec.Struct, rename="pascal"):
    """Holds the response of DeleteMessageBatch."""

    successful: list[msgspec.Raw] = []
    failed: list[msgspec.Raw] = []


class Message(msgspec.Struct, rename="pascal"):
    """Holds a received message. A response that lacks one of the fields is malformed."""

    message_id: str
    receipt_handle: str
    body: str
    md5_of_body: str = msgspec.field(name="MD5OfBody")


class ReceiveAnswer(msgspec.Struct, rename="pascal"):
    """Holds the response of ReceiveMessage, which is `{}` if the response has no messages."""

    messages: list[Message] = []


decode_entry = msgspec.json.Decoder(Entry).decode
decode_send_batch = msgspec.json.Decoder(SendBatchAnswer).decode
decode_receive = msgspec.json.Decoder(ReceiveAnswer).decode
decode_delete_batch = msgspec.json.Decoder(DeleteBatchAnswer).decode


def address_of(endpoint: str, queue: str, owner: str = ACCOUNT, key: Key | None = None) -> Address:
    """Returns the address of `queue` at an endpoint such as `http://127.0.0.1:9324`."""
    parts = urlsplit(endpoint)
    return Address(parts.hostname or "127.0.0.1", parts.port or 80, queue, owner, key)


def body_of(size_bytes: int) -> str:
    """Returns a printable body of exactly `size_bytes`. Calls with the same size return the same text."""
    return "".join(random.Random(size_bytes).choices(string.ascii_letters + string.digits, k=size_bytes))


def nested_uuids(width: int = 10, depth: int = 10) -> str:
    """Returns the payload of BullMQ's `queue-add` (4.6 KB), which is a JSON object of `width` objects with `depth`
    UUIDs each."""
    dice = random.Random(width * depth)
    made = {
        f"k{n}": {f"k{m}": str(UUID(int=dice.getrandbits(128), version=4)) for m in range(depth)} for n in range(width)
    }
    return msgspec.json.encode(made).decode()


def md5_of(body: str) -> str:
    return hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()


def signed_lines(address: Address, target: str, payload: bytes, service: str = "sqs") -> bytes:
    """Returns the header lines of a signature with the key of the address, or an empty string if the address has no
    key."""
    if address.key is None:
        return b""
    host = f"{address.host}:{address.port}"
    return f"\r\n{signature_headers(address.key, service, host, CONTENT_TYPE, target, payload)}".encode()


class Requests:
    """Builds requests for one queue. The builder encodes the fixed parts only once."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._url = msgspec.json.encode(address.queue_url).decode()
        self._heads = {action: self._head(action) for action in Action}

    def _head(self, action: Action) -> bytes:
        lines = (
            "POST / HTTP/1.1",
            f"Host: {self.address.host}:{self.address.port}",
            f"Content-Type: {CONTENT_TYPE}",
            f"X-Amz-Target: AmazonSQS.{action}",
            *(() if self.address.key else (f"Authorization: {AUTHORIZATION}",)),
            "Content-Length: ",
        )
        return "\r\n".join(lines).encode()

    def of(self, action: Action, payload: bytes) -> Request:
        signature = signed_lines(self.address, f"AmazonSQS.{action}", payload)
        return Request(action, b"%s%d%s\r\n\r\n%s" % (self._heads[action], len(payload), signature, payload))

    def send(self, body: str, group: str | None = None, deduplication_id: str | None = None) -> Request:
        """Returns a SendMessage request. A request for a FIFO queue needs a group and a deduplication id."""
        payload = {"QueueUrl": self.address.queue_url, "MessageBody": body}
        if group is not None and deduplication_id is not None:
            payload |= {"MessageGroupId": group, "MessageDeduplicationId": deduplication_id}
        return self.of(Action.SEND, msgspec.json.encode(payload))

    def send_batch(self, body: str, count: int) -> Request:
        return self.batch_of([{"Id": str(n), "MessageBody": body} for n in range(count)])

    def batch_of(self, entries: list[dict[str, str]]) -> Request:
        payload = {"QueueUrl": self.address.queue_url, "Entries": entries}
        return self.of(Action.SEND_BATCH, msgspec.json.encode(payload))

    def receive(self, count: int, wait_seconds: int = 0) -> Request:
        payload = {"QueueUrl": self.address.queue_url, "MaxNumberOfMessages": count, "WaitTimeSeconds": wait_seconds}
        return self.of(Action.RECEIVE, msgspec.json.encode(payload))

    def delete(self, handle: str) -> Request:
        return self.of(Action.DELETE, f'{{"QueueUrl":{self._url},"ReceiptHandle":{json_quoted(handle)}}}'.encode())

    def delete_batch(self, handles: list[str]) -> Request:
        entries = ",".join(f'{{"Id":"{n}","ReceiptHandle":{json_quoted(h)}}}' for n, h in enumerate(handles))
        return self.of(Action.DELETE_BATCH, f'{{"QueueUrl":{self._url},"Entries":[{entries}]}}'.encode())


def json_quoted(handle: str) -> str:
    """Returns a receipt handle as JSON, because the handles of other services can contain any characters."""
    return msgspec.json.encode(handle).decode()


# --- control ---------------------------------------------------------------------------------------------------------
# Creates and deletes queues outside the measured time.

# Messages stay invisible even during a slow drain, so a second receive of a message is an error of the service.
VISIBILITY_SECONDS = 600
SIGNING_NAMES = {"AmazonSQS": "sqs", "AmazonSNS": "sns"}


def call(address: Address, action: str, payload: dict[str, object], service: str = "AmazonSQS") -> dict[str, object]:
    """Calls an action, with a signature if the address has a key. Raises urllib.error.HTTPError unless the status is
    2xx.
    """
    data, target = json.dumps(payload).encode(), f"{service}.{action}"
    signed = signed_lines(address, target, data, SIGNING_NAMES[service]).decode()
    given = dict(line.split(": ", 1) for line in signed.split("\r\n") if line)
    request = urllib.request.Request(
        f"http://{address.host}:{address.port}/",
        data=data,
        headers={"Content-Type": CONTENT_TYPE, "X-Amz-Target": target, **(given or {"Authorization": AUTHORIZATION})},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read()
    return dict(json.loads(text)) if text else {}


def create_queue(address: Address, **given: str) -> None:
    """Creates a queue. `given` contains further attributes, and can override VisibilityTimeout."""
    attributes = {"VisibilityTimeout": str(VISIBILITY_SECONDS)} | given
    call(address, "CreateQueue", {"QueueName": address.queue, "Attributes": attributes})


def delete_queue(address: Address) -> None:
    call(address, "DeleteQueue", {"QueueUrl": address.queue_url})
