"""Reads messages without receiving them, compares their lines, and finds the acts that a page offers for them."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from penstock.access.audit.refusals import note_reading
from penstock.aws.json_text import replace_lone_surrogates
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.effects import Call, Operation
from penstock.management.messages.conversion import count_earlier_receives
from penstock.management.messages.search import show_message
from penstock.management.rights import needs
from penstock.postgres.statements.stored_messages import PEEK_MESSAGES, READ_MESSAGES, FailureRow, FoundRow, PeekedRow
from penstock.search.filters import MessageFilter
from penstock.search.messages import MAX_SCANNED, Search, search_messages
from penstock.search.titles import find_cause
from penstock.sqs import handles
from penstock.sqs.types import MessageAttributeValue

from .page import Page
from .paging import PAGE
from .snippets import Attribute

STATES: Final = ("visible", "in_flight", "delayed")
PAGE_BYTES: Final = 2_000_000
MAX_EXPORTED: Final = 1_000
EXPORTED_BYTES: Final = 4_000_000
MAX_PREVIEW_LENGTH: Final = 240
MAX_PRETTY_LENGTH: Final = 200_000
"""The maximum length of a JSON body that the page indents."""

_attributes = msgspec.json.Decoder(dict[str, MessageAttributeValue])


class Seen:
    """A message, and the message's state when the console read the message."""

    def __init__(self, row: PeekedRow | FoundRow | FailureRow, state: str) -> None:
        self.row = row
        self.state = state

    @property
    def receives(self) -> int:
        """Returns the number of receives. A dead letter's number includes the receives from the source queue."""
        return self.row.receive_count + count_earlier_receives(self.row.system)

    @property
    def preview(self) -> str:
        """Returns the beginning of the body as one line."""
        text = " ".join(self.row.body[: 2 * MAX_PREVIEW_LENGTH].split())
        is_cut = len(text) > MAX_PREVIEW_LENGTH or len(self.row.body) > 2 * MAX_PREVIEW_LENGTH
        return f"{text[:MAX_PREVIEW_LENGTH]}\u2026" if is_cut else text

    @cached_property
    def pretty(self) -> str | None:
        """Indents a JSON body without changing its numbers. Returns None for a long body and for a body that is not
        JSON.
        """
        body = self.row.body
        if len(body) > MAX_PRETTY_LENGTH or not body.lstrip().startswith(("{", "[")):
            return None
        try:
            return msgspec.json.format(replace_lone_surrogates(body), indent=2)
        except (msgspec.DecodeError, RecursionError, ValueError):
            return None

    @property
    def attributes(self) -> dict[str, Attribute]:
        found = {} if self.row.attributes is None else _attributes.decode(self.row.attributes)
        return {
            name: Attribute(value.data_type, value.string_value or value.binary_value or "")
            for name, value in found.items()
        }

    @property
    def cause(self) -> str | None:
        """Returns the cause of the failure, as in failure groups, or None without an error."""
        return find_cause({name: attribute.text for name, attribute in self.attributes.items()})

    @property
    def system(self) -> dict[str, str]:
        """Returns the system attributes as strings."""
        if self.row.system is None:
            return {}
        decoded: object = json.loads(self.row.system)
        return {str(key): str(value) for key, value in decoded.items()} if isinstance(decoded, dict) else {}

    @property
    def sent_at(self) -> datetime:
        return to_datetime(self.row.sent_at_ms)

    @property
    def entered_at(self) -> datetime:
        """Returns the time when the message entered this queue."""
        return to_datetime(self.row.entered_at_ms)

    @property
    def visible_at(self) -> datetime:
        """Returns when the message becomes visible to consumers."""
        return to_datetime(self.row.visible_at_ms)

    @property
    def size(self) -> int:
        """Returns the body's size in bytes."""
        return len(self.row.body.encode("utf-8", "surrogatepass"))


def to_datetime(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


@needs("queue", "sqs:ReceiveMessage")
def look_at(name: str, state: str, after: int | None, limit: int, context: Context) -> Operation[list[Seen]]:
    """Returns messages in one state, in the order of their ids. Raises QueueDoesNotExist."""
    arn = build_queue_arn(name, context)
    seen = yield from _peek(arn, state, after, limit)
    yield from note_reading(arn, context)
    return seen


def _peek(arn: str, state: str, after: int | None, limit: int) -> Operation[list[Seen]]:
    rows = yield from Call(PEEK_MESSAGES, (arn, state, after, limit, PAGE_BYTES))
    if not rows:
        yield from handles.check_queue(arn)
    return [Seen(row, state) for row in rows]


class MessagePage(NamedTuple):
    """Matching messages. `looked_at` counts the examined messages, and `of` counts all messages. `next` is where the
    next search begins.
    """

    messages: list[Seen]
    looked_at: int
    of: int | None
    next: str | None


@needs("queue", "sqs:ReceiveMessage")
def export_found(name: str, wanted: MessageFilter, context: Context) -> Operation[bytes]:
    """Returns matching messages as JSON Lines. Stops after 1,000 messages or 4 MB."""
    search = Search(build_queue_arn(name, context), wanted, None, MAX_EXPORTED, MAX_SCANNED)
    found = yield from search_messages(search, EXPORTED_BYTES, context)
    yield from note_reading(search.arn, context)
    return b"".join(msgspec.json.encode(show_message(row)) + b"\n" for row in found.rows)


@needs("queue", "sqs:ReceiveMessage")
def find(name: str, wanted: MessageFilter, place: str | None, context: Context) -> Operation[MessagePage]:
    """Returns a page of matching messages. Raises QueueDoesNotExist or InvalidParameterValue."""
    search = Search(build_queue_arn(name, context), wanted, place, PAGE)
    found = yield from search_messages(search, PAGE_BYTES, context)
    yield from note_reading(search.arn, context)
    return MessagePage([Seen(row, row.state) for row in found.rows], found.looked_at, found.of, found.next)


@needs("queue", "sqs:ReceiveMessage")
def look_for(name: str, message_id: int, states: Sequence[str], context: Context) -> Operation[Seen | None]:
    """Returns the message with this id in one of these states, or None."""
    arn = build_queue_arn(name, context)
    yield from note_reading(arn, context)
    for state in states:
        for seen in (yield from _peek(arn, state, message_id - 1, 1)):
            if seen.row.public_id == message_id:
                return seen
    return None


@needs("queue", "sqs:ReceiveMessage")
def read_samples(name: str, ids: Sequence[int], context: Context) -> Operation[list[Seen]]:
    """Returns the messages with these ids that still exist."""
    arn = build_queue_arn(name, context)
    rows = yield from Call(READ_MESSAGES, (arn, list(ids)))
    yield from note_reading(arn, context)
    return [Seen(row, row.state) for row in rows]


class Acts(NamedTuple):
    """The acts that a page offers."""

    send: bool
    delete: bool
    redrive: bool
    edit: bool


def find_acts(name: str, page: Page) -> Acts:
    """Returns which acts a page offers for messages of a queue."""
    arn = build_queue_arn(name, page.context)
    may_delete = page.may("sqs:DeleteMessage", arn)
    return Acts(
        page.may("sqs:SendMessage", arn), may_delete, page.may("sqs:StartMessageMoveTask", arn),
        may_delete and page.may_ever("sqs:SendMessage"),
    )  # fmt: skip


class ComparedLine(NamedTuple):
    """A line of a sample. `differs` is true if another sample lacks the line."""

    text: str
    differs: bool


def mark_lines(texts: Sequence[str]) -> list[list[ComparedLine]]:
    """Splits the texts into lines, and marks each line that another text lacks. Does not mark the lines of a single
    text.
    """
    split = [text.split("\n") for text in texts]
    if len(split) < 2:
        return [[ComparedLine(line, differs=False) for line in lines] for lines in split]
    everywhere = Counter(
        line.rstrip(",") for lines in split for line in {line_of_text.rstrip(",") for line_of_text in lines}
    )
    return [[ComparedLine(line, everywhere[line.rstrip(",")] < len(split)) for line in lines] for lines in split]
