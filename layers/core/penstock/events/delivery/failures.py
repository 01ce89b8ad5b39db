"""Builds the records of events that could not be delivered, for the queue in OnFailureConfiguration ("Using dead-letter
queues", EventBridge User Guide). A record names its events and does not contain them: they stay on the bus."""

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from penstock.aws.fifo_name import is_fifo_name
from penstock.errors import AwsError
from penstock.postgres.statements.messages import SendEntry
from penstock.sqs.send import build_message
from penstock.sqs.types import SendMessageBatchRequestEntry

from .event import Event, format_time
from .subscriber import MAX_ERROR, Refusal, Subscriber

_json = msgspec.json.Encoder()


class Failure(NamedTuple):
    """The end of the delivery of an event after `attempts` failed attempts. `condition` is the
    exhaustedRetryCondition."""

    subscriber: Subscriber
    event: Event
    refusal: Refusal
    condition: str
    attempts: int


def build_records(failures: Sequence[Failure]) -> list[SendEntry]:
    """Returns one record for each event whose subscriber has a failure queue. Returns no record that the queue could
    not accept."""
    found = (build_record(failure) for failure in failures if failure.subscriber.dead_letter_arn is not None)
    return [entry for entry in found if entry is not None]


def build_record(failure: Failure) -> SendEntry | None:
    subscriber, event, refusal, condition, attempts = failure
    queue = subscriber.dead_letter_arn or ""
    body = _json.encode(describe(failure)).decode()
    texts = {
        "ERROR_CODE": refusal.code,
        "ERROR_MESSAGE": refusal.message[:MAX_ERROR],
        "SUBSCRIBER_ARN": subscriber.arn,
        "TARGET_ARN": subscriber.target_arn,
        "BUS_ARN": subscriber.bus_arn,
        "EXHAUSTED_RETRY_CONDITION": condition,
    }
    members: dict[str, object] = {
        "Id": "0",
        "MessageBody": body,
        "MessageAttributes": {
            **{name: {"DataType": "String", "StringValue": value} for name, value in texts.items() if value},
            "RETRY_ATTEMPTS": {"DataType": "Number", "StringValue": str(attempts - 1)},
        },
    }
    if is_fifo_name(queue):
        # A hash of the record is a stable id, so a record that is sent again is a duplicate.
        deduplication_id = sha256(body.encode()).hexdigest()
        members |= {"MessageGroupId": event.shown_group_id, "MessageDeduplicationId": deduplication_id}
    try:
        return build_message(msgspec.convert(members, SendMessageBatchRequestEntry), queue).stored
    except AwsError:
        return None


def describe(failure: Failure) -> dict[str, object]:
    """Returns the body of the record, by AWS's names."""
    subscriber, event, refusal, condition, attempts = failure
    message = {
        "eventId": str(event.event_id),
        "eventGroupId": event.shown_group_id,
        "deduplicationId": event.deduplication_id,
        "timestamp": format_time(event.ingested_at),
        "targetRequestId": None,
    }
    return {
        "version": "1.0",
        "busArn": subscriber.bus_arn,
        "subscriberArn": subscriber.arn,
        "targetArn": subscriber.target_arn,
        "errorCode": refusal.code,
        "errorMessage": refusal.message[:MAX_ERROR],
        "exhaustedRetryCondition": condition,
        "retryAttempts": attempts - 1,
        "failedMessages": [message],
    }
