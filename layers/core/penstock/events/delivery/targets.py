"""Sends events to the queues, topics and buses of this installation, in the transaction of the worker's step."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import ValidationError, convert

from penstock import drivers
from penstock.aws.bus_arn import is_bus_arn
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.message_id import build_message_id
from penstock.aws.sns_arn import parse_topic_arn
from penstock.calls import build_call
from penstock.drivers import StatementExecutor
from penstock.effects import BatchCall
from penstock.environment import Environment
from penstock.errors import AwsError
from penstock.postgres.statements.messages import SEND_MESSAGES, SendEntry
from penstock.sns import types as sns
from penstock.sns.publishing.publications import build_publisher_context
from penstock.sns.publishing.publish import publish_batch
from penstock.sqs.send import build_message
from penstock.sqs.types import SendMessageBatchRequestEntry
from penstock.sqs.validation import check_message_body

from .calling import Calling
from .forwarding import forward
from .payloads import NOT_TEXT
from .subscriber import INVALID, Refusal, Shipment, build_refusal, refuse_call

BATCH: Final = 10
"""The most messages of PublishBatch."""
CALL_BYTES: Final = 4 << 20
"""The bytes of payloads after which the next call to queues begins. A page of 8 MiB can have many subscribers. In one
call, its payloads could exceed QUEUE_DATABASE_CALL_TIMEOUT_MS and the memory of a Lambda function."""


class Targets:
    """Sends shipments. Each method returns one element for each shipment: the refusal, or None.

    A refusal changes nothing else: the other shipments of a call are sent. Raises psycopg.Error.
    """

    def __init__(self, calls: StatementExecutor, environment: Environment) -> None:
        self._calls = calls
        self._environment = environment
        self._calling = Calling(calls, environment)
        self.deadline = float("inf")
        """The time of the clock after which no expression of a universal target begins."""

    def send(self, shipments: Sequence[Shipment]) -> list[Refusal | None]:
        """Sends to queues in calls of about CALL_BYTES, to each topic in batches, and to each bus in one call."""
        refusals: list[Refusal | None] = [None] * len(shipments)
        others: dict[int, list[int]] = {}
        queued: list[int] = []
        for place, shipment in enumerate(shipments):
            if not shipment.subscriber.is_queue:
                others.setdefault(shipment.subscriber.subscriber_id, []).append(place)
            else:
                queued.append(place)
        for places in split_by_size(shipments, queued):
            for place, refusal in zip(places, self._send_to_queues([shipments[n] for n in places]), strict=True):
                refusals[place] = refusal
        for places in others.values():
            for place, refusal in zip(places, self._send_to_one([shipments[n] for n in places]), strict=True):
                refusals[place] = refusal
        return refusals

    def _send_to_queues(self, shipments: Sequence[Shipment]) -> list[Refusal | None]:
        built = [build_entry(shipment) for shipment in shipments]
        sent = iter(self.send_entries([entry for entry in built if not isinstance(entry, Refusal)]))
        return [entry if isinstance(entry, Refusal) else next(sent) for entry in built]

    def _send_to_one(self, shipments: Sequence[Shipment]) -> list[Refusal | None]:
        """Sends the events of one subscriber to its topic, bus or universal target."""
        if shipments[0].subscriber.action is not None:
            return self._calling.send(shipments, self.deadline)
        if is_bus_arn(shipments[0].subscriber.target_arn):
            return forward(shipments, self._calls)
        batches = [shipments[start : start + BATCH] for start in range(0, len(shipments), BATCH)]
        return [refusal for batch in batches for refusal in self._publish(batch)]

    def send_entries(self, entries: Sequence[SendEntry]) -> list[Refusal | None]:
        if not entries:
            return []
        rows = sorted(self._calls.call(*build_call(BatchCall(SEND_MESSAGES, entries, (False,)))))
        return [None if row.error is None else build_refusal(row.error, row.detail) for row in rows]

    def _publish(self, shipments: Sequence[Shipment]) -> list[Refusal | None]:
        """Publishes messages of one subscriber in one call. If the call as a whole is refused, for example because the
        messages are too long together, publishes each message alone."""
        subscriber = shipments[0].subscriber
        topic = parse_topic_arn(subscriber.target_arn)
        assert topic is not None  # noqa: S101 - the caller has checked the ARN
        try:
            entries = [build_publication(str(n), shipment) for n, shipment in enumerate(shipments)]
            request = sns.PublishBatchRequest(subscriber.target_arn, entries)
            context = build_publisher_context(topic, self._environment)
            result = drivers.run(publish_batch(request, context), self._calls)
        except (AwsError, UnicodeDecodeError, ValidationError) as error:
            if len(shipments) > 1:
                return [refusal for shipment in shipments for refusal in self._publish([shipment])]
            return [describe_fault(error)]
        refused = {entry.id: Refusal(INVALID, entry.message or entry.code) for entry in result.failed}
        return [refused.get(str(n)) for n in range(len(shipments))]


def split_by_size(shipments: Sequence[Shipment], places: Sequence[int]) -> Iterator[list[int]]:
    """Yields the places in parts. A part is complete when its payloads have CALL_BYTES or more."""
    part: list[int] = []
    size = 0
    for place in places:
        part.append(place)
        size += len(shipments[place].event.data)
        if size >= CALL_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def build_entry(shipment: Shipment) -> SendEntry | Refusal:
    """Returns the message for a queue, as SendMessage checks it. A parameter that the queue refuses is a refusal of
    each event."""
    subscriber, event = shipment
    try:
        text = subscriber.build_text(event)
        if not subscriber.parameters and not is_fifo_name(subscriber.target_arn):
            body = check_message_body(text)
            return SendEntry(subscriber.target_arn, build_message_id(), body, len(body))
        # DelaySeconds is a text here and a number in SendMessage.
        members = subscriber.parameters | {"Id": "0", "MessageBody": text}
        request = convert(members, SendMessageBatchRequestEntry, strict=False)
        return build_message(request, subscriber.target_arn).stored
    except UnicodeDecodeError:
        return NOT_TEXT
    except AwsError as error:
        return Refusal(INVALID, error.message)
    except ValidationError as error:
        return Refusal(INVALID, str(error))


def build_publication(entry_id: str, shipment: Shipment) -> sns.PublishBatchRequestEntry:
    """Returns the message for a topic. Raises ValidationError, UnicodeDecodeError."""
    subscriber, event = shipment
    members = subscriber.parameters | {"Id": entry_id, "Message": subscriber.build_text(event)}
    return convert(members, sns.PublishBatchRequestEntry)


def describe_fault(error: AwsError | UnicodeDecodeError | ValidationError) -> Refusal:
    if isinstance(error, AwsError):
        return refuse_call(error)
    # A ValidationError is a parameter that has no valid value.
    return Refusal(INVALID, str(error)) if isinstance(error, ValidationError) else NOT_TEXT
