"""Reads queues and topics for several screens."""

from typing import Final

from penstock.access.authorization import is_user_allowed
from penstock.access.resources import build_arn
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.effects import Operation
from penstock.errors import QueueDoesNotExist
from penstock.management.attention import (
    SUBSCRIBER_FAILS,
    SUBSCRIBER_LAGS,
    SUBSCRIBER_STOPPED,
    Concern,
    Judged,
    find_hidden,
    read_judged,
    read_other_concerns,
)
from penstock.management.queues import is_queue, list_queues
from penstock.management.rights import show
from penstock.management.topics import is_topic

from .page import Page
from .responses import NoSuchThing

LISTED_QUEUES: Final = 100
"""The maximum number of queues from which a form offers a choice. The user can type any other name."""
KINDS: Final = {"sqs": ("queue", "GetQueueAttributes"), "sns": ("topic", "GetTopicAttributes")}
"""The kinds of resources that a form can look up, and the actions that show whether a resource exists."""


async def read_shared(page: Page) -> Judged:
    """Returns the verdicts, which the overview and the list of queues share."""
    return await page.read(("judged",), lambda: read_judged(page.context))


async def read_others(page: Page) -> list[Concern]:
    """Returns the concerns beside the queues, which the overview and the list of endpoints share."""
    hidden = find_hidden(page.context)
    return await page.read(("concerns", hidden), lambda: read_other_concerns(page.context))


async def read_subscriber_concerns(page: Page) -> list[Concern] | None:
    """Returns the concerns about subscribers of event buses, or None if the user may not read them."""
    if SUBSCRIBER_FAILS in find_hidden(page.context) or not page.may("penstock:ListDeliveries"):
        return None
    kinds = (SUBSCRIBER_LAGS, SUBSCRIBER_STOPPED, SUBSCRIBER_FAILS)
    return [concern for concern in await read_others(page) if concern.kind in kinds]


def list_queue_names(context: Context) -> Operation[list[str]]:
    """Returns names of queues for a choice, or an empty list if the user cannot list queues."""
    page = yield from show(list_queues(LISTED_QUEUES, None, context))
    return [] if page is None else [queue.name for queue in page.queues]


def find_missing(arn: str, context: Context) -> Operation[str]:
    """Returns which queue or topic of the account does not exist, as a sentence. Returns an empty text if the resource
    exists, if it belongs to another service, account or region, or if the user may not read its attributes.
    """
    service, name = arn.split(":")[2] if arn.count(":") == 5 else "", arn.rpartition(":")[2]
    if service not in KINDS or arn != build_arn(service, name, context):
        return ""
    kind, action = KINDS[service]
    if not is_user_allowed(service, action, arn, context):
        return ""
    is_known = (yield from is_topic(name, context)) if service == "sns" else (yield from is_queue(arn))
    return "" if is_known else f"There is no {kind} '{name}'."


def check_target(queue: str, context: Context) -> Operation[None]:
    """Raises QueueDoesNotExist if a form names a queue that does not exist. An empty name passes."""
    if queue and (yield from find_missing(build_queue_arn(queue, context), context)):
        raise QueueDoesNotExist


def check_topic(name: str, context: Context) -> Operation[None]:
    """Raises NoSuchThing if the account has no topic of this name."""
    if not (yield from is_topic(name, context)):
        raise NoSuchThing(f"There is no topic '{name}'.")
