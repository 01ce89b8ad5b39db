"""Reads queues and topics for several screens."""

from collections.abc import Sequence
from typing import Final

from penstock.aws.sns_arn import is_topic_name
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.management import verdicts
from penstock.management.attention import Judged, read_judged
from penstock.management.queues import list_queues
from penstock.management.rights import build_topic_arn, show
from penstock.management.verdicts import KEPT, QUEUES_PER_READ, RECENT, Observed
from penstock.postgres.statements.sns.topics import DESCRIBE_TOPIC

from .page import Page
from .responses import NoSuchThing

MAX_QUEUES: Final = QUEUES_PER_READ[RECENT]
MAX_LONG_QUEUES: Final = QUEUES_PER_READ[KEPT]
LISTED_QUEUES: Final = 200
"""The maximum number of queues from which a form offers a choice. The user can type any other name."""


def observe(arns: Sequence[str], in_flight_limit: int) -> Operation[dict[str, Observed]]:
    """Returns the existing queues by ARN. Reads only the first 60 ARNs, and the complete history of five queues."""
    return (yield from verdicts.observe(arns[:MAX_QUEUES], in_flight_limit, histories=MAX_LONG_QUEUES))


async def read_shared(page: Page) -> Judged:
    """Returns the verdicts, which the overview and the list of queues share."""
    return await page.read(("judged",), lambda: read_judged(page.context))


def list_queue_names(context: Context) -> Operation[list[str]]:
    """Returns names of queues for a choice, or an empty list if the user cannot list queues."""
    page = yield from show(list_queues(LISTED_QUEUES, None, context))
    return [] if page is None else [queue.name for queue in page.queues]


def check_topic(name: str, context: Context) -> Operation[None]:
    """Raises NoSuchThing if the account has no topic of this name."""
    if not is_topic_name(name) or not (yield from Call(DESCRIBE_TOPIC, (build_topic_arn(name, context),))):
        raise NoSuchThing(f"There is no topic '{name}'.")
