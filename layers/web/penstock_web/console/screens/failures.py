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
from penstock.search.failures import BY_DEFAULT, SCANNED, By, FailureGroup, Grouping
from penstock_web.console.filters import as_parameters
from penstock_web.console.messages import ComparedLine, Seen, find_acts, mark_lines, to_datetime
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.rendering import plural
from penstock_web.console.responses import show_page
from penstock_web.console.screen import screen
from penstock_web.console.snippets import as_markdown

KINDS: Final[tuple[By, ...]] = get_args(By)
MAX_SAMPLE_LENGTH: Final = 16_384
MAX_PLACE_LENGTH: Final = 160


class ShownSample(NamedTuple):
    """A message of a group, with its lines."""

    seen: Seen
    lines: list[ComparedLine]
    is_cut: bool


class ShownFailures(NamedTuple):
    """A group of dead letters. `parameters` contains the filter that finds the group's messages, or is None if no
    filter can find them. `markdown` is the group's first sample. `is_moving` says that a move takes the group.
    """

    group: FailureGroup
    samples: list[ShownSample]
    parameters: dict[str, str] | None
    markdown: tuple[str, str]
    source: str | None
    is_moving: bool

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
        read_place(page.query.get("after", "")), SCANNED, MAX_GROUPS,
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
    )  # fmt: skip
