"""Shows the queues and endpoints that need attention, from the worst to the best, and then totals."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fastapi import Response

from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.management.attention import EXPIRE, Concern, find_concerns, read_failed_endpoints
from penstock.management.rights import needs, right_of
from penstock.management.verdicts import rank_badness
from penstock.postgres.statements.installation import READ_INSTALLATION, InstallationRow
from penstock.postgres.statements.queues import READ_OVERVIEW, OverviewRow
from penstock.verdicts import Kind
from penstock_web.console.observing import LATE_SECONDS, MAX_QUEUES, OLD_SNAPSHOT_SECONDS, Observed, observe
from penstock_web.console.page import CurrentPage
from penstock_web.console.rendering import plural, seconds
from penstock_web.console.responses import show_page
from penstock_web.console.screen import screen

HOUR: Final = timedelta(hours=1)
WORDS: Final = {
    "stalled": "no receives",
    "given_up": "given up",
    "endpoint_paused": "paused",
    "endpoint_fails": "fails",
    "messages_expire": "expire",
}
"""Shorter names of some kinds of concern for the page."""


class Item(NamedTuple):
    """A problem. `level` is bad, warn or info. `what` names the problem in one or two words. `path` leads to the page
    with details.
    """

    level: str
    what: str
    name: str
    text: str
    path: str
    since: datetime | None = None
    since_or_before: bool = False


class Overview(NamedTuple):
    """`total` covers all queues. `busiest` contains the eight queues with the most messages."""

    total: OverviewRow
    items: Sequence[Item]
    busiest: Sequence[tuple[OverviewRow, Observed]]
    dead_letters: Sequence[OverviewRow]
    arrival_rate: float
    drain_rate: float


@needs("account", "sqs:ListQueues", "penstock:GetLag", "penstock:ListDeliveries")
def read_overview(context: Context) -> Operation[Overview]:
    """Returns totals, problems, and the busiest queues with their verdicts."""
    limit = MAX_QUEUES // 4
    total, *rows = yield from Call(READ_OVERVIEW, (context.account_id, context.region, limit))
    settings = context.environment.settings
    observed = yield from observe([row.arn or "" for row in rows], settings.queue_in_flight_limit)
    known = [(row, observed[row.arn or ""]) for row in rows if row.arn in observed]
    known.sort(key=lambda pair: rank_badness(pair[1].verdict))
    endpoints = yield from read_failed_endpoints(context.account_id)
    installation = yield from Call(READ_INSTALLATION, ())
    queues = {row.name or "": queue for row, queue in known}
    concerns = find_concerns(((name, queue.verdict) for name, queue in queues.items()), endpoints)
    return Overview(
        total,
        [*(show_concern(concern, queues) for concern in concerns), *late(installation)],
        sorted((pair for pair in known if pair[0].visible), key=lambda pair: -(pair[0].visible or 0))[:8],
        [row for row in rows if row.dead_letters and row.visible],
        sum(queue.verdict.arrival_rate for _, queue in known),
        sum(queue.verdict.drain_rate for _, queue in known),
    )


@screen("/console", right=right_of(read_overview), title="Overview", position=10)
async def overview(page: CurrentPage) -> Response:
    """Shows problems and totals."""
    await page.refresh()
    found = await page.read(("overview",), lambda: read_overview(page.context))
    return show_page(page, "overview.html", found=found, items=found.items, at=found.total.read_at)


def show_concern(concern: Concern, queues: Mapping[str, Observed]) -> Item:
    """Converts a concern to an item. The item of a queue contains the queue's numbers of messages."""
    what = WORDS.get(concern.kind, concern.kind.replace("_", " "))
    path, text = "/console/deliveries", concern.text
    if concern.kind in (kind.value for kind in Kind):
        path = f"/console/queues/{concern.name}"
        text = describe_numbers(concern, queues[concern.name])
    if concern.kind == Kind.DEAD_LETTERS.value:
        path += "/failures"
    elif concern.kind == EXPIRE:
        path = f"/console/queues/{concern.name}"
    return Item(concern.level, what, concern.name, text, path, concern.since, concern.since_or_before)


def describe_numbers(concern: Concern, queue: Observed) -> str:
    """Describes why a queue needs attention, and how many messages the queue has."""
    if concern.kind == Kind.DEAD_LETTERS.value:
        arrived = queue.total("sent", HOUR)
        since = f"{arrived:,}" if arrived else "none"
        return f"{plural(concern.number, 'dead letter')}; {since} arrived in the last hour"
    text, wait = concern.text, queue.verdict.seconds_since_receive
    if concern.kind == Kind.STALLED.value and wait is not None:
        text = f"Messages wait. No consumer has received a message for {seconds(wait)}."
    return f"{text} {plural(concern.number, 'message')} can be received."


def late(rows: Sequence[InstallationRow]) -> Iterator[Item]:
    """Yields overdue work in the whole installation."""
    values = {row.name: row.value for row in rows if not row.label}
    if (overdue := values.get("schedules_overdue", 0.0)) > LATE_SECONDS:
        text = f"The most overdue schedule has been due for {seconds(overdue)}."
        yield Item("bad", "late", "Schedules", text, "/console/schedules")
    if (overdue := values.get("deliveries_overdue", 0.0)) > LATE_SECONDS:
        text = f"The most overdue delivery has been due for {seconds(overdue)}."
        yield Item("warn", "late", "Deliveries", text, "/console/deliveries")
    if (oldest := values.get("oldest_transaction", 0.0)) > OLD_SNAPSHOT_SECONDS:
        text = f"A transaction has been open for {seconds(oldest)}. PostgreSQL cannot remove deleted rows meanwhile."
        yield Item("warn", "old snapshot", "Database", text, "/console/system")
