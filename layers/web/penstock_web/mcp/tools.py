"""Writes the results of the tools as Markdown. Encloses texts that other people wrote in fences, which the texts cannot
close. Other people wrote message bodies, headers, group ids, queue attributes and policies.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Final, NamedTuple

import msgspec

from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.effects import Operation
from penstock.management.messages.editing import Name
from penstock.management.messages.life import parse_message, read_life
from penstock.management.messages.search import (
    After,
    SearchRequest,
    ShownGroup,
    find_failures,
    find_messages,
    show_group,
)
from penstock.management.messages.types import FoundMessage
from penstock.management.metrics.operations import read_lag, read_minutes
from penstock.management.metrics.types import QueueLag
from penstock.management.queues import describe_queue
from penstock.management.rights import Right, right_of
from penstock.search.failures import BY_DEFAULT, Grouping
from penstock.search.filters import MessageFilter
from penstock.verdicts import TARGET_LAG_SECONDS
from penstock_web.report.formats import plural

MAX_BODY_LENGTH: Final = 4_000
"""The maximum number of characters of a message body. The tool cuts longer bodies."""
MAX_MINUTES: Final = 15


class ListQueues(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of `list_queues`. `next` is at the end of the previous result."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50
    next: str | None = None


class DescribeQueue(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of `describe_queue`."""

    queue: Name


class SearchMessages(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of `search_messages`."""

    queue: Name
    filter: MessageFilter = msgspec.field(default_factory=MessageFilter)
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] = 5
    after: After | None = None


class MessageHistory(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of `message_life`. `id` is the message's number in the queue, or its id (a UUID)."""

    queue: Name
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class FailureGroups(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of `failure_groups`."""

    queue: Name
    groups: Annotated[int, msgspec.Meta(ge=1, le=50)] = 10
    after: After | None = None


class ReadTool(NamedTuple):
    """A tool. `right` is the right that the REST API requires for the same operation."""

    description: str
    arguments: type[msgspec.Struct]
    right: Right
    read: Callable[..., Operation[str]]


def list_queues(wanted: ListQueues, context: Context) -> Operation[str]:
    """Lists queues with counts and verdicts."""
    page = yield from read_lag(wanted.limit, wanted.next, TARGET_LAG_SECONDS, context)
    heads = ("queue", "verdict", "since", "why", "visible", "in flight", "delayed", "oldest (s)", "in/s", "out/s")
    return _join(_table(heads, map(_queue_row, page.queues)), _following("next", page.next or None))


def describe(wanted: DescribeQueue, context: Context) -> Operation[str]:
    """Shows a queue's counts, attributes and last minutes."""
    queue = yield from describe_queue(wanted.queue, context)
    minutes = yield from read_minutes(wanted.queue, None, None, context)
    counts = {"visible": queue.visible, "in flight": queue.in_flight, "delayed": queue.delayed}
    facts = {**counts, "oldest message (s)": queue.oldest_msg_age_sec}
    heads = ("minute", "sent", "received", "received again", "deleted", "dead-lettered", "visible")
    rows = (
        (row.starts_at, row.sent, row.received, row.redelivered, row.deleted, row.dead_lettered, row.visible)
        for row in minutes.minutes[-MAX_MINUTES:]
    )
    attributes = _fence_facts({**queue.attributes, **{f"tag {key}": tag for key, tag in queue.tags.items()}})
    return _join(
        f"## {_line(queue.name)}",
        _facts(facts),
        "Attributes:",
        attributes,
        "Last minutes with activity:",
        _table(heads, rows),
    )


def search(wanted: SearchMessages, context: Context) -> Operation[str]:
    """Finds messages that match a filter."""
    request = SearchRequest(wanted.filter, wanted.after, wanted.limit)
    found = yield from find_messages(wanted.queue, request, context)
    return _join(
        f"{len(found.messages)} found; examined {found.looked_at} of {_messages(found.of)}.",
        *map(_message, found.messages),
        _following("after", found.next),
    )


def message_life(wanted: MessageHistory, context: Context) -> Operation[str]:
    """Shows a message's events, and the unknown facts."""
    shown = yield from read_life(wanted.queue, *parse_message(wanted.id), context)
    heads = ("at", "event", "queue", "receive", "by")
    rows = ((event.at or "not known", event.what, event.queue, event.receive, event.by) for event in shown.events)
    times = {"sent": shown.sent_at, "first received": shown.first_received_at, "last received": shown.last_received_at}
    facts = {"state": shown.state or "not known", **times, "receives": shown.receive_count, "ended": shown.ended_at}
    details = [f"{event.at or 'not known'} {event.what}: {event.detail}" for event in shown.events if event.detail]
    return _join(
        f"## Message {shown.message_id}",
        _facts(facts),
        _table(heads, rows),
        _fence("\n".join(details)) if details else "",
        *(f"Not known: {text}" for text in shown.unknown),
    )


def failure_groups(wanted: FailureGroups, context: Context) -> Operation[str]:
    """Groups dead letters by failure."""
    grouping = Grouping(build_queue_arn(wanted.queue, context), BY_DEFAULT, None, wanted.after, 5_000, wanted.groups)
    found = yield from find_failures(wanted.queue, grouping, context)
    return _join(
        f"{plural(found.group_count, 'group')} among {plural(found.looked_at, 'examined message')}, "
        f"of {found.of or 'many'}.",
        *(_group(show_group(group, grouping)) for group in found.groups),
        _following("after", found.next),
    )


TOOLS: Final[dict[str, ReadTool]] = {
    "list_queues": ReadTool(
        "Lists queues with their counts and verdicts. A verdict says whether a queue is ok, for example stalled or "
        "falling behind, since when, and why.",
        ListQueues, right_of(read_lag), list_queues,
    ),
    "describe_queue": ReadTool(
        "Describes one queue: counts, attributes, and the events of the last minutes.",
        DescribeQueue, right_of(describe_queue, read_minutes), describe,
    ),
    "search_messages": ReadTool(
        "Finds messages that match a filter (text, JSON path, attribute, age, receives, state) without receiving them.",
        SearchMessages, right_of(find_messages), search,
    ),
    "message_life": ReadTool(
        "Shows the life of one message: when it was sent, received, failed, moved or deleted, and the unknown facts.",
        MessageHistory, right_of(read_life), message_life,
    ),
    "failure_groups": ReadTool(
        "Groups a queue's dead letters by failure, with samples and the filter for each group.",
        FailureGroups, right_of(find_failures), failure_groups,
    ),
}  # fmt: skip


def _queue_row(queue: QueueLag) -> Sequence[object]:
    verdict, now = queue.verdict, queue.now
    about = (None, None, None, None, None) if verdict is None else (
        verdict.kind, verdict.since, verdict.cause_text, round(verdict.arrival_rate, 2), round(verdict.drain_rate, 2)
    )  # fmt: skip
    counts = (now.visible, now.in_flight, now.delayed, now.oldest_age_us // 1_000_000)
    return (queue.name, *about[:3], *counts, *about[3:])


def _message(message: FoundMessage) -> str:
    headers = msgspec.json.encode(message.headers).decode() if message.headers else None
    facts = {"state": message.state, "sent": message.enqueued_at, "receives": message.receive_count}
    origin = {"group": message.group_id, "from queue": message.source_queue, "headers": headers}
    return _join(f"### Message {message.id}", _facts(facts), _fence_facts(origin), _body(message.message))


def _messages(number: int | None) -> str:
    return plural(number, "message") if number else "many messages"


def _group(group: ShownGroup) -> str:
    by = msgspec.json.encode(group.by).decode()
    selects = "none" if group.filter is None else msgspec.json.encode(group.filter).decode()
    facts = {"oldest": group.oldest_at, "newest": group.newest_at}
    shared = _fence_facts({"title": group.title or "none", "by": by, "filter": selects})
    return _join(f"## {plural(group.count, 'message')}", _facts(facts), shared, *map(_message, group.samples))


def _body(raw: msgspec.Raw) -> str:
    text = bytes(raw).decode()
    if len(text) > MAX_BODY_LENGTH:
        text = f"{text[:MAX_BODY_LENGTH]}\n(cut: {len(text)} characters)"
    return _fence(text)


def _fence(text: str) -> str:
    """Encloses a text in fences. The fences are longer than every sequence of backticks in the text."""
    fence = "`" * (1 + max(2, *map(len, re.findall("`+", text)), 2))
    return f"{fence}\n{text}\n{fence}"


def _fence_facts(facts: Mapping[str, object]) -> str:
    """Formats facts from other people within fences. Returns an empty string if there are no facts."""
    lines = _facts(facts)
    return _fence(lines) if lines else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *([_line(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _facts(facts: Mapping[str, object]) -> str:
    return "\n".join(f"- {name}: {_line(value)}" for name, value in facts.items() if value not in (None, ""))


def _line(value: object) -> str:
    """Formats a value as one line for a table. Returns an empty string for an unknown value."""
    return "" if value is None else " ".join(str(value).replace("|", "\\|").split())


def _following(name: str, place: object) -> str:
    return f"There is more. Call the tool again with `{name}` {msgspec.json.encode(place).decode()}." if place else ""


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
