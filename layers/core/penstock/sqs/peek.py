"""Shows messages of a queue without receiving them, at the endpoint `/_aws/sqs/messages` (QUEUE_PEEK_ENDPOINT).

The endpoint has the form that LocalStack documents ("Developer endpoints" of its page on SQS) and test suites use.
The endpoint responds like a ReceiveMessage request for all attributes, but does not change messages.
"""

from collections.abc import Sequence
from functools import partial

from penstock.aws.named_queue import NamedQueue
from penstock.context import Context
from penstock.effects import LONG_DIGEST_BYTES, Call, Operation, compute
from penstock.postgres.statements.stored_messages import PEEK_MESSAGES, PeekedRow

from . import handles
from .attributes import ALL_ATTRIBUTES
from .receive import build_message
from .types import Message, PeekRequest, ReceiveMessageResult

MAX_MESSAGES = 1_000
MAX_BYTES = 8 * 1_048_576
MAX_GROWTH = 7  # the factor by which escapes can lengthen a function's result

# Replaces the receipt handle, because a client cannot delete a message that it has not received.
NOT_RECEIVED = "NOT-RECEIVED"


def peek_messages(request: PeekRequest, context: Context) -> Operation[ReceiveMessageResult]:
    """Returns visible messages, then messages in flight, then delayed messages. Each state's messages are in the order
    of arrival.

    A response has at most 1,000 messages, and at most 8 MiB of bodies and attributes. In a Lambda function, the limit
    is a seventh of the longest response, because escapes can lengthen the result. The response has at least one message
    (Penstock's choice, because responses are not streamed). Raises QueueDoesNotExist.
    """
    queue = context.queue(request.queue_url)
    limit = context.http.response_limit
    most_bytes = MAX_BYTES if limit is None else limit.max_bytes // MAX_GROWTH
    states = {"visible": True, "in_flight": request.show_invisible, "delayed": request.show_delayed}
    shown: list[tuple[PeekedRow, str]] = []
    size = 0
    for state in (state for state, included in states.items() if included):
        for row in (yield from _read_rows(queue.arn, state, MAX_MESSAGES - len(shown), most_bytes - size)):
            size += len(row.body.encode()) + len((row.attributes or "").encode())
            if shown and size > most_bytes:
                break
            shown.append((row, state))
    build = partial(_build_messages, shown, queue, both=request.show_invisible or request.show_delayed)
    messages = yield from compute(build, size, LONG_DIGEST_BYTES)
    if not messages:
        yield from handles.check_queue(queue.arn)
    if context.user is not None:
        from penstock.access.audit.refusals import note_reading  # noqa: PLC0415 - only a process with access control needs it

        yield from note_reading(queue.arn, context)
    return ReceiveMessageResult(messages=messages)


def _read_rows(arn: str, state: str, most: int, most_bytes: int) -> Operation[list[PeekedRow]]:
    """Reads up to `most` rows of `queue.peek_messages`. Stops after `most_bytes`."""
    if most <= 0 or most_bytes <= 0:
        return []
    return (yield from Call(PEEK_MESSAGES, (arn, state, None, most, most_bytes)))


def _build_messages(shown: Sequence[tuple[PeekedRow, str]], queue: NamedQueue, *, both: bool) -> list[Message]:
    messages = []
    for row, state in shown:
        message = build_message(row, queue, NOT_RECEIVED, ALL_ATTRIBUTES, ALL_ATTRIBUTES)
        _add_state(message, row, state, both=both)
        messages.append(message)
    return messages


def _add_state(message: Message, row: PeekedRow, state: str, *, both: bool) -> None:
    """Adds the message's state if the request includes several states (`both`). The time of the first receive is
    unknown."""
    attributes = message.attributes or {}
    if row.receive_count:
        del attributes["ApproximateFirstReceiveTimestamp"]
    if both:
        attributes["IsVisible"] = "true" if state == "visible" else "false"
        attributes["IsDelayed"] = "true" if state == "delayed" else "false"
