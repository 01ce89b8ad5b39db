"""Lists queues, from the worst verdict to the best, or by a column."""

from typing import Final, NamedTuple

from fastapi import Response
from markupsafe import Markup

from penstock.context import Context
from penstock.effects import Operation
from penstock.management.attention.reading import list_dead, list_troubled
from penstock.management.messages.life import parse_message_id
from penstock.management.queues import WantedQueues, read_queue_page
from penstock.management.rights import right_of
from penstock.management.verdicts import Observed
from penstock.postgres.statements.queues import QueuePageRow
from penstock_web.console.charts import depths, spark
from penstock_web.console.page import CurrentPage
from penstock_web.console.paging import PAGE, count_pages, count_rows_before, read_page_number
from penstock_web.console.rendering import plural
from penstock_web.console.resources import read_shared
from penstock_web.console.responses import redirect, show_page
from penstock_web.console.screen import screen

TROUBLE: Final = "trouble"
DEAD: Final = "dead"
SORTS: Final = (TROUBLE, "name", "visible", "in_flight", "delayed", "age", "created", DEAD)
BEGINNINGS: Final = {TROUBLE: list_troubled, DEAD: list_dead}
"""The sorts that begin with some of the account's queues."""
MAX_SEARCH_LENGTH: Final = 80


class Wanted(NamedTuple):
    """The URL's parameters. The first `page` is 1. The sort `trouble` begins with the queues that need attention. The
    sort `dead` shows only dead-letter queues, and begins with those that have messages."""

    search: str
    sort: str
    descending: bool
    page: int


class Spark(NamedTuple):
    """A small chart, its values for the label below the pointer, separated by commas, and the time of the last value.
    An unknown value is empty."""

    picture: Markup
    values: str
    end: str


NO_SPARK: Final = Spark(Markup(), "", "")


class ListedQueue(NamedTuple):
    """A queue in the list. `seen` is None if another request has just deleted the queue."""

    row: QueuePageRow
    seen: Observed | None

    @property
    def spark(self) -> Spark:
        """Draws the number of visible messages in the last hour."""
        return NO_SPARK if self.seen is None else depth_spark(self.seen)


def read_page(wanted: Wanted, first: list[str], context: Context) -> Operation[list[ListedQueue]]:
    """Returns a page of queues. The sorts `trouble` and `dead` begin with the queues in `first`."""
    page = WantedQueues(wanted.search, wanted.sort, wanted.descending, first, count_rows_before(wanted.page), PAGE)
    return [ListedQueue(*listed) for listed in (yield from read_queue_page(page, context))]


@screen("/console/queues", right=right_of(read_queue_page), title="Queues", position=20)
async def queues(page: CurrentPage) -> Response:
    """Shows queues with their last measurements. A message id in the search field leads to the message."""
    searched = page.query.get("q", "").strip()
    if parse_message_id(searched) is not None:
        return redirect(f"/console/messages/{searched}")
    sort = page.query.read_choice("sort", SORTS)
    order = page.query.read_choice("order", ("", "asc", "desc"))
    descending = sort not in (TROUBLE, DEAD) and (order == "desc" if order else sort != "name")
    wanted = Wanted(
        searched[:MAX_SEARCH_LENGTH],
        sort,
        descending,
        read_page_number(page.query),
    )
    await page.refresh()
    first = BEGINNINGS[sort](await read_shared(page)) if sort in BEGINNINGS else []
    listed = await page.read(("queues", wanted), lambda: read_page(wanted, first, page.context))
    rows = [queue.row for queue in listed]
    total = rows[0].total if rows else 0
    state = {"q": wanted.search, "sort": "" if sort == TROUBLE else sort, "order": order}
    at = min((row.measured_at for row in rows if row.measured_at is not None), default=None)
    return show_page(
        page, "queues.html", listed=listed, total=total, wanted=wanted, state=state, at=at,
        first=count_rows_before(wanted.page) + 1, pages=count_pages(total),
        is_number=searched.isascii() and searched.isdigit(),
        may_create=page.may_ever("sqs:CreateQueue"), done=page.query.get("done", ""),
    )  # fmt: skip


def depth_spark(queue: Observed) -> Spark:
    """Draws a queue's number of visible messages in the last hour."""
    end = queue.facts.read_at
    values = [*depths(queue.minutes, end), queue.facts.visible]
    known = [value for value in values if value is not None]
    text = f"last hour: at most {plural(max(known), 'message')} visible" if known else ""
    texts = ",".join("" if value is None else str(value) for value in values)
    return Spark(spark(values, text), texts, end.isoformat(timespec="seconds"))
