"""Groups dead letters by failure and shows samples side by side."""

import re
from typing import Final, NamedTuple, get_args

import msgspec
from fastapi import Response

from penstock.access.audit.refusals import note_reading
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.management.messages.reading import MAX_GROUPS
from penstock.management.messages.search import PLACE, find_failures
from penstock.management.move_tasks import OVER, list_move_tasks
from penstock.management.rights import right_of
from penstock.postgres.statements.move_tasks import MoveTaskRow
from penstock.search.failures import BY_DEFAULT, SCANNED, By, FailureGroup, Grouping, Split
from penstock.search.filters import MessageFilter
from penstock_web.console.filters import as_parameters, parse_value
from penstock_web.console.messages import ComparedLine, Seen, find_acts, mark_lines, to_datetime
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.rendering import plural
from penstock_web.console.responses import show_page
from penstock_web.console.screen import screen
from penstock_web.console.snippets import as_markdown

KINDS: Final[tuple[By, ...]] = get_args(By)
MAX_SAMPLE_LENGTH: Final = 16_384
MAX_PLACE_LENGTH: Final = 160
MAX_SPLITS: Final = 5
MAX_VALUE_LENGTH: Final = 200
IN_BODY: Final = "$."
"""The beginning of the name of a split by a JSON value."""


class ShownSample(NamedTuple):
    """A message of a group, with its lines."""

    seen: Seen
    lines: list[ComparedLine]
    is_cut: bool


class ShownPart(NamedTuple):
    """The messages of a group that have one value. `parameters` contains the filter that finds them, or is None if no
    filter can find them.
    """

    text: str
    messages: int
    parameters: dict[str, str] | None


class ShownFailures(NamedTuple):
    """A group of dead letters. `parameters` contains the filter that finds the group's messages, or is None if no
    filter can find them. `markdown` is the group's first sample. `is_moving` says that a move takes the group. `splits`
    has the parts of the group by the name that divides it.
    """

    group: FailureGroup
    samples: list[ShownSample]
    parameters: dict[str, str] | None
    markdown: tuple[str, str]
    source: str | None
    is_moving: bool
    splits: dict[str, list[ShownPart]]

    @property
    def oldest_at(self) -> object:
        """Returns the time when the group's first message arrived."""
        return to_datetime(self.group.oldest_ms)

    @property
    def newest_at(self) -> object:
        """Returns the time when the group's last message arrived."""
        return to_datetime(self.group.newest_ms)


def read_place(text: str) -> str | None:
    """Returns the position where a page begins, or None for the first page and for an invalid text."""
    return text if len(text) <= MAX_PLACE_LENGTH and re.fullmatch(PLACE, text) else None


@screen("/console/queues/{name}/failures", right=right_of(find_failures))
async def failures(name: str, page: CurrentPage) -> Response:
    """Groups the queue's first messages, and shows the groups. The parameter `by` names the properties that a group's
    messages share.
    """
    chosen = [kind for kind in KINDS if kind in page.request.query_params.getlist("by")]
    attribute = page.query.get("attribute", "").strip()[:256]
    if "attribute" in chosen and not attribute:
        chosen.remove("attribute")
    wanted = Grouping(
        build_queue_arn(name, page.context), chosen or list(BY_DEFAULT), attribute if "attribute" in chosen else None,
        read_place(page.query.get("after", "")), SCANNED, MAX_GROUPS, with_splits=True,
    )  # fmt: skip
    found = await page.read(("failures", *map(str, wanted)), lambda: find_failures(name, wanted, page.context))
    await page.run(note_reading(wanted.arn, page.context))  # The audit also records a read from the cache.
    move = await find_move(name, page)
    return show_page(
        page, "failures.html", title=f"Dead letters of {name}", name=name, found=found, by=wanted.by, kinds=KINDS,
        attribute=attribute, acts=find_acts(name, page), move=move,
        groups=[
            show_group(name, group, is_moving=takes_group(move, group, page.context)) for group in found.groups
        ],
    )  # fmt: skip


async def find_move(name: str, page: Page) -> MoveTaskRow | None:
    """Returns the queue's move that has not ended, or None, also for users who may not list moves. A queue has one such
    move at most.
    """
    if not page.may("sqs:ListMessageMoveTasks", build_queue_arn(name, page.context)):
        return None
    rows = await page.read(("moves", name), lambda: list_move_tasks(name, page.context))
    return next((row for row in rows if row.state not in OVER), None)


def takes_group(move: MoveTaskRow | None, group: FailureGroup, context: Context) -> bool:
    """Returns whether the move takes all messages of the group: the group's filter has the move's conditions."""
    if move is None or move.ids is not None:
        return False
    wanted = msgspec.json.decode(move.filter or "{}", type=dict[str, object])
    own = msgspec.json.decode("{}" if group.filter is None else group.filter.as_json(context), type=dict[str, object])
    return all(name in own and own[name] == value for name, value in wanted.items())


def show_group(name: str, group: FailureGroup, *, is_moving: bool) -> ShownFailures:
    """Prepares a group for the template."""
    seen = [Seen(row, row.state) for row in group.samples]
    texts = [failure.pretty or failure.row.body for failure in seen]
    samples = [
        ShownSample(sample, lines, len(sample.row.body) >= MAX_SAMPLE_LENGTH)
        for sample, lines in zip(seen, mark_lines(texts), strict=True)
    ]
    first = seen[0]
    source = group.samples[0].source_arn
    facts = {
        "queue": name,
        "from": source and source.rpartition(":")[2],
        "title": group.title,
        "alike": group.messages,
        "receives": group.samples[0].total_receive_count,
        "message id": first.row.message_id,
        "newest": to_datetime(group.newest_ms).isoformat(timespec="seconds"),
        **{f"attribute {key}": value.text for key, value in first.attributes.items()},
    }
    markdown = as_markdown(
        f"{plural(group.messages, 'dead letter')} in {name}", facts, texts[0], "json" if first.pretty else ""
    )
    return ShownFailures(
        group, samples, None if group.filter is None else as_parameters(group.filter), markdown,
        source and source.rpartition(":")[2], is_moving,
        {name_split(split): show_parts(split, group) for split in group.splits[:MAX_SPLITS]},
    )  # fmt: skip


def name_split(split: Split) -> str:
    """Returns the words of a split: a path, an attribute or the cause."""
    if split.name.startswith(IN_BODY):
        return split.name.removeprefix(IN_BODY)
    return f"attribute {split.name}" if split.name else "cause"


def show_parts(split: Split, group: FailureGroup) -> list[ShownPart]:
    """Returns the messages of each value, and then the messages without the name."""
    parts = [
        ShownPart(show_value(bytes(raw)), messages, find_part(split.name, bytes(raw), group.filter))
        for raw, messages in split.counts
    ]
    rest = group.messages - sum(part.messages for part in parts)
    return [*parts, ShownPart("none", rest, None)] if rest else parts


def show_value(value: bytes) -> str:
    """Returns a JSON value without the quotation marks of a text."""
    text: object = msgspec.json.decode(value)
    return text or "empty" if isinstance(text, str) else value.decode()


def find_part(name: str, value: bytes, wanted: MessageFilter | None) -> dict[str, str] | None:
    """Returns the filter of a part. A filter has only one cause and one attribute, and a text of 200 characters can be
    the beginning of a longer text.
    """
    text: object = msgspec.json.decode(value)
    if wanted is None or (isinstance(text, str) and not 0 < len(text) < MAX_VALUE_LENGTH):
        return None
    if name.startswith(IN_BODY):
        typed = text if isinstance(text, str) and parse_value(text) == text else value.decode()
        return {**as_parameters(wanted), "path": name.removeprefix(IN_BODY), "value": typed}
    if not name:
        return {**as_parameters(wanted), "cause": str(text)} if wanted.cause is None else None
    return {**as_parameters(wanted), "attr": name, "attr_value": str(text)} if wanted.attribute is None else None
