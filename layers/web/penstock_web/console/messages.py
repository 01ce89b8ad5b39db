"""Reads messages without receiving them, compares their lines, and finds the acts that a page offers for them."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from penstock.aws.json_text import replace_lone_surrogates
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.effects import Operation
from penstock.management.messages import reading
from penstock.management.messages.conversion import count_earlier_receives
from penstock.postgres.statements.stored_messages import FailureRow, FoundRow, PeekedRow
from penstock.search.filters import MessageFilter
from penstock.search.titles import find_cause, find_error
from penstock.sqs.types import MessageAttributeValue

from .page import Page
from .paging import PAGE
from .snippets import Attribute

STATES: Final = ("visible", "in_flight", "delayed")
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
    def error(self) -> str | None:
        """Returns the first line of the error, with its numbers, or None without an error."""
        return find_error({name: attribute.text for name, attribute in self.attributes.items()})

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


def look_at(name: str, state: str, after: int | None, limit: int, context: Context) -> Operation[list[Seen]]:
    rows = yield from reading.peek_messages(name, state, after, limit, context)
    return [Seen(row, state) for row in rows]


class MessagePage(NamedTuple):
    """Matching messages. `looked_at` counts the examined messages, and `of` counts all messages. `next` is where the
    next search begins.
    """

    messages: list[Seen]
    looked_at: int
    of: int | None
    next: str | None


def find(name: str, wanted: MessageFilter, place: str | None, context: Context) -> Operation[MessagePage]:
    found = yield from reading.find_page(name, wanted, place, PAGE, context)
    return MessagePage([Seen(row, row.state) for row in found.rows], found.looked_at, found.of, found.next)


def look_for(name: str, message_id: int, states: Sequence[str], context: Context) -> Operation[Seen | None]:
    found = yield from reading.peek_message(name, message_id, states, context)
    return None if found is None else Seen(*found)


def read_samples(name: str, ids: Sequence[int], context: Context) -> Operation[list[Seen]]:
    rows = yield from reading.read_messages(name, ids, context)
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
