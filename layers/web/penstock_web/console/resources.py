"""Reads queues and topics for several screens."""

from typing import Final

from penstock.context import Context
from penstock.effects import Operation
from penstock.management.attention import Judged, read_judged
from penstock.management.queues import list_queues
from penstock.management.rights import show
from penstock.management.topics import is_topic

from .page import Page
from .responses import NoSuchThing

LISTED_QUEUES: Final = 100
"""The maximum number of queues from which a form offers a choice. The user can type any other name."""


async def read_shared(page: Page) -> Judged:
    """Returns the verdicts, which the overview and the list of queues share."""
    return await page.read(("judged",), lambda: read_judged(page.context))


def list_queue_names(context: Context) -> Operation[list[str]]:
    """Returns names of queues for a choice, or an empty list if the user cannot list queues."""
    page = yield from show(list_queues(LISTED_QUEUES, None, context))
    return [] if page is None else [queue.name for queue in page.queues]


def check_topic(name: str, context: Context) -> Operation[None]:
    """Raises NoSuchThing if the account has no topic of this name."""
    if not (yield from is_topic(name, context)):
        raise NoSuchThing(f"There is no topic '{name}'.")
