"""Reads the life of one message: what the database knows about its sends, receives, failures, moves and its end.

The tables of messages, leases, failures, move tasks, the history, the archive and the audit have this knowledge.
Only queues with the attribute PenstockTrace record each receive. A fact without a record stays unknown: its member is
null, and `unknown` says why.
"""

from typing import Final
from uuid import UUID

import msgspec

from penstock.access.audit.refusals import note_reading
from penstock.access.authorization import authorize_one, is_user_allowed
from penstock.access.resources import ANY
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.documents.times import to_timestamp
from penstock.effects import Call, Operation
from penstock.errors import AccessDenied
from penstock.management.errors import MessageNotFound
from penstock.management.rights import needs
from penstock.postgres.statements.message_life import FIND_MESSAGE, READ_MESSAGE, LifeRow, PlaceRow
from penstock.search.messages import MAX_SCANNED
from penstock.sqs.handles import check_queue

from .facts import LIVE, Facts, LifeFact, find_unknown, list_events
from .types import LifeEvent, MessageLife, MessagePlace

FIND_SECONDS: Final = 2.0


def parse_message(text: str) -> tuple[int | None, UUID | None]:
    """Parses a message's number or message id. Raises MessageNotFound for any other text."""
    if text.isascii() and text.isdigit() and len(text) <= 19 and int(text) < 2**63:
        return int(text), None
    if (message_id := parse_message_id(text)) is not None:
        return None, message_id
    raise MessageNotFound("No message has this id, because it is neither a number nor a UUID.")


def parse_message_id(text: str) -> UUID | None:
    """Parses a message id in its usual form of 36 characters. Returns None for any other text."""
    try:
        return UUID(text) if len(text) == 36 and text.isascii() and text[8] == text[13] == text[18] == "-" else None
    except ValueError:
        return None


def read_message_id(text: str) -> UUID:
    """Parses a message id. Raises MessageNotFound for any other text."""
    if (message_id := parse_message_id(text)) is None:
        raise MessageNotFound("No message has this id, because it is not a UUID.")
    return message_id


@needs("account", "sqs:ListQueues")
def find_message(message_id: UUID, context: Context) -> Operation[MessagePlace]:
    """Finds a message in the account's queues from which the caller may receive. Raises MessageNotFound.

    Reads at most 100,000 messages, for about 2 seconds.
    """
    places, end = yield from _find(message_id, None, context)
    for row in places:
        if (yield from may_receive(row.arn or "", context)):
            return MessagePlace(_name(row.arn), row.public_id)
    raise _describe_search(end)


@needs("queue", "sqs:ReceiveMessage")
def read_life(name: str, number: int | None, message_id: UUID | None, context: Context) -> Operation[MessageLife]:
    """Returns the life of the message with this number or id, or both, which is or was in this queue. The id can be one
    that the message had before a move. Omits events of queues from which the caller may not receive. Raises
    QueueDoesNotExist, MessageNotFound.

    Without a number, reads at most 100,000 messages of the queue to find the message.
    """
    arn = build_queue_arn(name, context)
    yield from note_reading(arn, context)
    error = MessageNotFound()
    if number is None and message_id is not None:
        found, end = yield from _find(message_id, arn, context)
        number, error = found[0].public_id if found else None, _describe_search(end)
    rows = yield from _read(arn, number, message_id, context)
    facts = _find_facts(rows)
    if facts is None and number is not None and message_id is not None:  # The number may be that after a move.
        later = yield from _read(arn, number, None, context)
        found_later = _find_facts(later)
        if found_later is not None and any(move.id == str(message_id) for move in found_later.moves):
            rows, facts = later, found_later
    if facts is None:
        if message_id is None or not rows:
            yield from check_queue(arn)
            raise error
        facts = Facts(message_id=str(message_id))
    return (yield from _build(arn, facts, rows, context))


def _find_facts(rows: list[LifeRow]) -> Facts | None:
    details = (row.detail or "{}" for row in rows if row.kind == "facts")
    return next((msgspec.json.decode(detail, type=Facts) for detail in details), None)


def _find(message_id: UUID, arn: str | None, context: Context) -> Operation[tuple[list[PlaceRow], PlaceRow]]:
    """Returns the places, those where the message still exists first, and the end of the search."""
    place = (context.account_id, context.region)
    *rows, end = yield from Call(FIND_MESSAGE, (*place, arn, str(message_id), MAX_SCANNED, FIND_SECONDS))
    return sorted(rows, key=lambda row: (not row.is_there, row.public_id is None)), end


def _read(arn: str, number: int | None, message_id: UUID | None, context: Context) -> Operation[list[LifeRow]]:
    with_audit = context.user is None or is_user_allowed("penstock", "ReadAudit", ANY, context)
    given = None if message_id is None else str(message_id)
    return (yield from Call(READ_MESSAGE, (arn, number, given, with_audit)))


def _describe_search(end: PlaceRow) -> MessageNotFound:
    """Returns the error after a search. The error says whether the search examined all messages."""
    looked_at, messages = end.looked_at or 0, end.messages
    if messages == looked_at:
        return MessageNotFound(
            f"No queue has a message with this id: looked at all stored messages ({looked_at:,}). A queue keeps "
            "nothing of a deleted message by its id, unless it has the attribute archive or PenstockTrace."
        )
    of = "an unknown number of messages" if messages is None else f"{messages:,} message{'s' * (messages != 1)}"
    return MessageNotFound(
        f"No message with this id was found: looked at {looked_at:,} of {of}. Name the queue for a search in "
        "one queue, or use the message's number in its queue."
    )


def _build(arn: str, facts: Facts, rows: list[LifeRow], context: Context) -> Operation[MessageLife]:
    """Returns the document. Omits the queues from which the caller may not receive."""
    source = facts.source_arn
    if facts.first_sent_to is not None:
        rows = [*rows, LifeRow("first_sent", facts.first_sent_ms, facts.first_sent_to, None, None, None, None)]
    allowed = {arn: True}
    for other in {*(row.arn for row in rows), *(row.source_arn for row in rows), source} - {arn, None}:
        allowed[other or ""] = yield from may_receive(other or "", context)
    shown = [
        row if allowed.get(row.source_arn or "") else row._replace(source_arn=None) for row in rows if allowed[row.arn]
    ]
    shows_source = source is not None and allowed[source]
    events = list_events(arn, facts, shown, shows_source=shows_source)
    entered_from = source or (facts.moves[-1].source if facts.moves else None)
    times = [
        event.at_ms
        for event in events
        if event.what == "received" and event.at_ms is not None and event.message_id == facts.message_id
    ]
    receives = facts.count_receives()
    is_complete = receives is not None and len(times) >= receives
    return MessageLife(
        message_id=facts.message_id,
        id=facts.public_id,
        queue=_name(arn),
        state=facts.state,
        sent_at=to_timestamp(facts.sent_ms),
        entered_at=to_timestamp(facts.entered_ms),
        entered_by=facts.entered_by,
        source_queue=_name(entered_from) if allowed.get(entered_from or "") else None,
        receive_count=receives,
        first_received_at=to_timestamp(
            min(times) if is_complete and times else facts.first_earlier_ms or facts.first_ms
        ),
        last_received_at=to_timestamp(facts.find_last_known_receive(times)),
        visible_at=to_timestamp(facts.visible_ms) if facts.state in ("in_flight", "delayed") else None,
        ended_at=None if facts.state in LIVE else to_timestamp(facts.ended_ms),
        group_id=facts.group_id,
        former_message_id=facts.former_id or _find_original(shown),
        events=[_show_event(event, facts.message_id) for event in events],
        unknown=list(find_unknown(arn, facts, shown, shows_source=shows_source)),
    )


def _find_original(rows: list[LifeRow]) -> str | None:
    """Returns the id of the message of which the message is an edited copy."""
    return next((row.detail for row in rows if row.kind == "edited_from" and not row.is_original), None)


def _show_event(event: LifeFact, message_id: str) -> LifeEvent:
    at, name = to_timestamp(event.at_ms), _name(event.arn)
    source = None if event.source_arn is None else _name(event.source_arn)
    former = event.message_id if event.message_id != message_id else None
    return LifeEvent(
        event.what, at, name, event.receive, event.by, event.agent or None, event.detail, source, former,
        event.is_original,
    )  # fmt: skip


def may_receive(arn: str, context: Context) -> Operation[bool]:
    """Returns whether the caller may receive from the queue with this ARN."""
    if context.user is None:
        return True
    try:
        yield from authorize_one("sqs", "ReceiveMessage", arn, context)
    except AccessDenied:
        return False
    return True


def _name(arn: str | None) -> str:
    return (arn or "").rpartition(":")[2]
