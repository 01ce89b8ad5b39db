"""Publishes events to event buses over HTTP, as an SDK does, and creates buses and subscribers.

The `queue` of an address is the ARN of a bus. As for queues, the flows build each request once, and examine only a part
of each response.
"""

import http.client
import json
from typing import cast

from penstock.aws.codec import cbor

from .connection import Flow
from .flows import Phase
from .wire import ACCOUNT, REGION, Action, Address, Request

HUNDRED = 100
"""The most entries of PutRawEvents (API Reference of EventBridge)."""
AUTHORIZATION = (
    f"AWS4-HMAC-SHA256 Credential={ACCOUNT}/20260101/{REGION}/events/aws4_request, SignedHeaders=host, Signature=00"
)
PUBLISHED, NONE_FAILED = b"PUBLISHED", b"FailedEntryCount\0"
JSON = {"ContentType": "application/json"}


def build_put(address: Address, data: list[bytes]) -> Request:
    """Returns a PutRawEvents request with JSON payloads."""
    entries = [{"Data": each, "SystemMetadata": JSON} for each in data]
    payload = cbor.encode({"EventBusArn": address.queue, "Entries": entries})
    lines = (
        f"POST /service/AWSEventsV2/operation/{Action.PUT_EVENTS} HTTP/1.1",
        f"Host: {address.host}:{address.port}",
        "Content-Type: application/cbor",
        "Accept: application/cbor",
        "Smithy-Protocol: rpc-v2-cbor",
        f"Authorization: {AUTHORIZATION}",
        f"Content-Length: {len(payload)}",
    )
    return Request(Action.PUT_EVENTS, "\r\n".join(lines).encode() + b"\r\n\r\n" + payload)


def note_published(phase: Phase, answer: bytes | None, count: int) -> None:
    """Counts a response as bad unless it acknowledges this number of events."""
    if answer is not None and (NONE_FAILED not in answer or answer.count(PUBLISHED) != count):
        phase.tally.record_bad_response(answer[:300])


def put_hundreds(phase: Phase) -> Flow:
    """Publishes in hundreds until all events are published. The body becomes a JSON string."""
    return put_repeatedly(phase, [json.dumps(phase.body).encode()] * HUNDRED)


def put_singly(phase: Phase) -> Flow:
    return put_repeatedly(phase, [json.dumps(phase.body).encode()])


def put_each_key(phase: Phase) -> Flow:
    """Publishes in hundreds of JSON objects whose keys are 0 to 99."""
    documents = ({"key": key, "shop": "a", "text": phase.body} for key in range(HUNDRED))
    return put_repeatedly(phase, [json.dumps(each).encode() for each in documents])


def put_repeatedly(phase: Phase, data: list[bytes]) -> Flow:
    """Publishes the same payloads with each call until the phase's events are published."""
    request = build_put(phase.requests.address, data)
    while phase.progress.claim(len(data)) == len(data):
        note_published(phase, (yield phase.pace.timed(request, len(data))), len(data))


# --- control ---------------------------------------------------------------------------------------------------------
def call(address: Address, action: str, members: dict[str, object]) -> dict[str, object]:
    """Calls an action of event buses outside the measured time. Raises RuntimeError unless the status is 200."""
    connection = http.client.HTTPConnection(address.host, address.port, timeout=30)
    headers = {
        "Content-Type": "application/cbor",
        "Smithy-Protocol": "rpc-v2-cbor",
        "Authorization": AUTHORIZATION,
    }
    try:
        connection.request("POST", f"/service/AWSEventsV2/operation/{action}", cbor.encode(members), headers)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{action}: {answer.status} {body[:300]!r}")
    return cast("dict[str, object]", cbor.decode(body))


def create_bus(address: Address, days: int = 1) -> str:
    """Creates a bus with the name `address.queue`. Returns its ARN."""
    members: dict[str, object] = {"Name": address.queue, "StorageConfiguration": {"RetentionPeriodInDays": days}}
    return str(call(address, "CreateEventBus", members)["EventBusArn"])


def create_subscriber(bus: Address, name: str, queue: str, **more: object) -> str:
    """Creates a subscriber of a bus that delivers to a queue. Returns its ARN."""
    invoke = {
        "TargetArn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}",
        "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/bus",
    }
    members = {"Name": name, "EventBusArn": bus.queue, "InvokeConfiguration": invoke, **more}
    return str(call(bus, "CreateSubscriber", members)["SubscriberArn"])
