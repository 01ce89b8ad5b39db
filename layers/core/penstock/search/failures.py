"""Groups dead letters. Each group has a count, a time span, and samples."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import structs

from penstock import errors
from penstock.access.audit.refusals import note_reading
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.stored_messages import GROUP_FAILURES, FailureRow

from .filters import AttributeFilter, MessageFilter
from .messages import estimate
from .titles import choose_titles

By = Literal["cause", "source", "receive_count", "attribute", "shape"]
BY_DEFAULT: Final[tuple[By, ...]] = ("cause", "source", "shape")
SCANNED: Final = 5_000  # computing the shapes of 5,000 bodies of 500 bytes takes about 200 ms
SAMPLES: Final = 3


class Grouping(NamedTuple):
    """How to group messages.

    `attribute` is required if `by` contains "attribute". `after` is the previous scan's `next`. Messages that do not
    match `filter` are in no group. `with_splits` asks for the splits of the groups.
    """

    arn: str
    by: Sequence[By]
    attribute: str | None
    after: str | None
    scan: int
    groups: int
    filter: MessageFilter = MessageFilter()
    with_splits: bool = False


class Split(NamedTuple):
    """How the values of a name divide the examined messages of a group. The name is an attribute's name, `$.` with a
    path into the JSON bodies, or empty for the cause. `counts` has 2 to 8 JSON values, each with its number of
    messages. Other messages do not have the name.
    """

    name: str
    counts: list[tuple[msgspec.Raw, int]]


class FailureGroup(NamedTuple):
    """A group of similar messages, with the newest as samples. `filter` matches only these messages of the queue.

    `messages`, `oldest_ms` and `newest_ms` describe the examined messages. The times say when the messages entered
    this queue. `title` is true of all examined messages of the group (titles.py), or is None.
    `splits` come in the order of their numbers of values.
    """

    filter: MessageFilter | None
    messages: int
    oldest_ms: int
    newest_ms: int
    samples: list[FailureRow]
    title: str | None = None
    splits: Sequence[Split] = ()


class Failures(NamedTuple):
    """The largest groups.

    `group_count` counts all groups of the examined messages. `SearchResult` explains the other members.
    """

    groups: list[FailureGroup]
    group_count: int
    looked_at: int
    of: int | None
    next: str | None


def group_failures(grouping: Grouping, context: Context) -> Operation[Failures]:
    """Groups the matching messages of the first `scan` messages after `after`. Raises InvalidParameterValue,
    QueueDoesNotExist.
    """
    if ("attribute" in grouping.by) is (grouping.attribute is None):
        raise errors.InvalidParameterValue("attribute: required with by=attribute, refused otherwise")
    rows = yield from Call(
        GROUP_FAILURES,
        (
            grouping.arn, list(grouping.by), grouping.attribute, grouping.filter.as_json(context), grouping.after,
            grouping.scan, grouping.groups, SAMPLES, grouping.with_splits,
        ),
    )  # fmt: skip
    if not rows:
        raise errors.QueueDoesNotExist
    yield from note_reading(grouping.arn, context)
    *samples, end = rows
    looked_at = end.looked_at or 0
    groups = [_group(list(found), grouping) for _, found in groupby(samples, lambda row: row.group_number)]
    titles = choose_titles([group.samples for group in groups])
    return Failures(
        [group._replace(title=title) for group, title in zip(groups, titles, strict=True)],
        end.groups or 0,
        looked_at,
        estimate(end.messages, looked_at, grouping.after, end.next),
        end.next,
    )


def _group(samples: list[FailureRow], grouping: Grouping) -> FailureGroup:
    first = samples[0]
    return FailureGroup(
        _build_filter(first, grouping), first.group_messages, first.oldest_ms, first.newest_ms, samples,
        splits=_read_splits(samples),
    )  # fmt: skip


def _read_splits(samples: list[FailureRow]) -> list[Split]:
    text = next((row.group_splits for row in samples if row.group_splits is not None), "{}")
    found = msgspec.json.decode(text, type=dict[str, list[tuple[msgspec.Raw, int]]])
    return sorted((Split(*item) for item in found.items()), key=lambda split: (len(split.counts), split.name))


def _build_filter(row: FailureRow, grouping: Grouping) -> MessageFilter | None:
    """Returns a filter that matches only this group's messages: the grouping's filter with the group's features.
    Returns None if the messages do not have a feature, or if the filter already names another attribute.
    """
    by = grouping.by
    lacks_source = "source" in by and row.group_source_arn is None
    if lacks_source or ("attribute" in by and row.group_attribute is None):
        return None
    shared: dict[str, object] = {"source_queue": row.group_source_arn and row.group_source_arn.rpartition(":")[2]}
    shared |= {"min_receive_count": row.group_receive_count, "max_receive_count": row.group_receive_count}
    shared["shape"] = row.group_shape
    if "cause" in by:
        shared["cause"] = row.group_cause or ""
    if grouping.attribute is not None:
        if grouping.filter.attribute is not None and grouping.filter.attribute.name != grouping.attribute:
            return None
        shared["attribute"] = AttributeFilter(grouping.attribute, row.group_attribute)
    return structs.replace(grouping.filter, **{name: value for name, value in shared.items() if value is not None})
