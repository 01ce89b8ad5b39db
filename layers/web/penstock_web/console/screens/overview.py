"""Shows what needs attention, from the worst to the best, then the messages of the last hour, and totals."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from fastapi import Response

from penstock.context import Context
from penstock.effects import Operation
from penstock.management.alerts.mutes import read_mutes
from penstock.management.attention.concerns import Concern
from penstock.management.attention.reading import JudgedQueue, find_concerns, mark_muted, read_attention
from penstock.management.metrics.operations import read_account_minutes
from penstock.management.rights import right_of
from penstock.postgres.statements.metrics import AccountMinuteRow
from penstock.verdicts import Kind
from penstock_web.console.charts import Chart, draw_counts
from penstock_web.console.page import CurrentPage
from penstock_web.console.rendering import plural, seconds
from penstock_web.console.resources import read_others, read_shared
from penstock_web.console.responses import show_page
from penstock_web.console.screen import screen
from penstock_web.report.charts import ChartPeriod, Series

MINUTE: Final = timedelta(minutes=1)
MINUTES: Final = 60
SIZE: Final = (720, 180)
"""The width and height of the chart in pixels."""
MAX_ITEMS: Final = 20
"""More items would push the chart and the totals below the window. The most severe items come first."""
MAX_BUSIEST: Final = 8


class Traffic(NamedTuple):
    """The messages that entered and left all queues in the last hour. `chart` is None if there were no messages."""

    entered: int
    finished: int
    chart: Chart | None


class Item(NamedTuple):
    """A concern with the text of the page."""

    concern: Concern
    text: str


def read_traffic(context: Context) -> Operation[list[AccountMinuteRow]]:
    """Returns the account's minutes of the last hour, and of the minute before it."""
    return (yield from read_account_minutes(datetime.now(UTC) - (MINUTES + 1) * MINUTE, context))


@screen("/console", right=right_of(read_attention, read_account_minutes), title="Overview", position=10)
async def overview(page: CurrentPage) -> Response:
    """Shows problems, the last hour and totals. With `show=all`, lists every problem."""
    await page.refresh()
    judged = await read_shared(page)
    others = await read_others(page)
    minutes = await page.read(("traffic",), lambda: read_traffic(page.context))
    mutes = await page.read(("mutes",), lambda: read_mutes(page.context))
    items = show_concerns(mark_muted(find_concerns(judged.queues, others), mutes), judged.queues)
    shown = items if page.query.read_choice("show", ("worst", "all")) == "all" else items[:MAX_ITEMS]
    return show_page(
        page, "overview.html", total=judged.total, items=shown, number=len(items),
        bad=sum(item.concern.level == "bad" for item in items), busiest=find_busiest(judged.queues),
        traffic=draw_traffic(minutes, judged.total.read_at), may_create=page.may_ever("sqs:CreateQueue"),
    )  # fmt: skip


def draw_traffic(rows: Sequence[AccountMinuteRow], end: datetime) -> Traffic:
    """Draws the full minutes of the last hour. A minute without a row had no messages. The lines begin with the first
    queue, because nothing is known about the time before.
    """
    end = end.replace(second=0, microsecond=0)
    known = {row.starts_at: row for row in rows}
    first = min((at for row in rows for at in (row.starts_at, row.known_from) if at is not None), default=end)
    hour = [end - number * MINUTE for number in range(MINUTES, 0, -1)]
    times = [at for at in hour if at > first - MINUTE]
    into = [(at, known[at].entered if at in known else 0) for at in times]
    out = [(at, known[at].finished if at in known else 0) for at in times]
    entered, finished = sum(count for _, count in into), sum(count for _, count in out)
    period = ChartPeriod(hour[0], hour[-1], 2 * MINUTE, *SIZE)
    lines: dict[str, Series] = {"first": into, "second": out}
    chart = draw_counts("Messages a minute", lines, period, ("in", "out")) if entered or finished else None
    return Traffic(entered, finished, chart)


def find_busiest(queues: Sequence[JudgedQueue]) -> list[JudgedQueue]:
    """Returns the queues with the most visible messages."""
    return sorted((one for one in queues if one.row.visible), key=lambda one: -(one.row.visible or 0))[:MAX_BUSIEST]


def show_concerns(concerns: Sequence[Concern], queues: Sequence[JudgedQueue]) -> list[Item]:
    """Adds the texts of the page to the concerns."""
    named = {queue.row.name or "": queue for queue in queues}
    return [Item(one, describe_numbers(one, named)) for one in concerns]


def describe_numbers(concern: Concern, queues: Mapping[str, JudgedQueue]) -> str:
    """Describes why something needs attention. The text about a queue says how many messages the queue has."""
    is_of_queue = concern.kind in (kind.value for kind in Kind) and concern.name in queues
    if concern.kind == Kind.DEAD_LETTERS.value or not is_of_queue:
        return concern.text
    text, wait = concern.text, queues[concern.name].seen.verdict.seconds_since_receive
    if concern.kind == Kind.STALLED.value and wait is not None:
        text = f"Messages wait. No consumer has received a message for {seconds(wait)}."
    return f"{text} {plural(concern.number, 'message')} can be received."
