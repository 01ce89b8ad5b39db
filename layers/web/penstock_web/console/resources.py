"""Reads queues and topics for several screens. Describes a missing resource: its deletion, and a similar name."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Final, NamedTuple

from fastapi import Response

from penstock.access.authorization import is_user_allowed
from penstock.access.resources import build_arn
from penstock.aws.bus_arn import BUS, SUBSCRIBER
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.effects import Operation
from penstock.errors import AwsError, QueueDoesNotExist
from penstock.management.access import find_deletion
from penstock.management.api_destinations import list_api_destinations
from penstock.management.attention.concerns import SUBSCRIBER_FAILS, SUBSCRIBER_KINDS, Concern
from penstock.management.attention.reading import Judged, find_hidden, read_judged, read_other_concerns
from penstock.management.buses.operations import list_buses, list_subscribers
from penstock.management.errors import BusNotFound, MessageNotFound, ScheduleNotFound, SubscriberNotFound
from penstock.management.queues import is_queue, list_queues
from penstock.management.rights import build_schedule_arn, show
from penstock.management.topics import is_topic, list_topics
from penstock.sns.errors import NotFound

from .forms import FieldProblem
from .page import Page
from .rendering import segment
from .responses import NoSuchThing, error_page, find_status, find_target_problem, is_poll

LISTED_QUEUES: Final = 100
"""The maximum number of queues from which a form offers a choice. The user can type any other name."""
MAX_BUSES: Final = 100
MAX_NAMES: Final = 1_000
"""The maximum number of names from which the console suggests one."""
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
    return [concern for concern in await read_others(page) if concern.kind in SUBSCRIBER_KINDS]


def list_queue_names(context: Context) -> Operation[list[str]]:
    """Returns names of queues for a choice, or an empty list if the user cannot list queues."""
    page = yield from show(list_queues(LISTED_QUEUES, None, context))
    return [] if page is None else [queue.name for queue in page.queues]


class Suggestion(NamedTuple):
    """A target that a form suggests. The value is the name of a queue, or an ARN, and the label names the target."""

    value: str
    label: str


def list_targets(context: Context) -> Operation[list[Suggestion]]:
    """Returns queues and topics that the user may list."""
    queues = yield from list_queue_names(context)
    topics = yield from show(list_topics(None, context))
    named = [Suggestion(topic.arn, f"topic {topic.name}") for topic in (topics.topics if topics else ())]
    return [*(Suggestion(name, "queue") for name in queues), *named]


def list_bus_targets(context: Context) -> Operation[list[Suggestion]]:
    """Returns queues, topics, event buses and API destinations that the user may list."""
    found = yield from list_targets(context)
    buses = yield from show(list_buses(MAX_BUSES, None, context))
    destinations = yield from show(list_api_destinations(MAX_BUSES, None, context))
    found += [Suggestion(bus.arn, f"event bus {bus.name}") for bus in (buses.buses if buses else ())]
    listed = destinations.api_destinations if destinations else ()
    return [*found, *(Suggestion(one.arn, f"API destination {one.name}") for one in listed)]


def list_all_queues(context: Context) -> Operation[list[str]]:
    """Returns up to 1,000 names of queues. Raises AccessDenied."""
    page = yield from list_queues(MAX_NAMES, None, context)
    return [queue.name for queue in page.queues]


def list_all_topics(context: Context) -> Operation[list[str]]:
    """Returns up to 100 names of topics. Raises AccessDenied."""
    page = yield from list_topics(None, context)
    return [topic.name for topic in page.topics]


def suggest(name: str, names: Iterable[str]) -> str:
    """Returns the most similar of the names, or an empty text."""
    return next(iter(get_close_matches(name, list(names), 1)), "")


async def find_target_problems(page: Page, error: AwsError | None, field: str, queue: str) -> dict[str, FieldProblem]:
    """Returns the problem of a form whose field names the target queue. Suggests a queue if there is no such queue."""
    problems = find_target_problem(error, field, queue)
    if field in problems and isinstance(error, QueueDoesNotExist):
        names = await page.run(show(list_all_queues(page.context)))
        return {field: problems[field]._replace(suggestion=suggest(queue, names or ()))}
    return problems


def find_missing(arn: str, context: Context) -> Operation[str]:
    """Returns which queue or topic of the account does not exist, as a sentence, and the most similar name. Returns an
    empty text if the resource exists, if it belongs to another service, account or region, or if the user may not read
    its attributes.
    """
    service, name = arn.split(":")[2] if arn.count(":") == 5 else "", arn.rpartition(":")[2]
    if service not in KINDS or arn != build_arn(service, name, context):
        return ""
    kind, action = KINDS[service]
    if not is_user_allowed(service, action, arn, context):
        return ""
    is_known = (yield from is_topic(name, context)) if service == "sns" else (yield from is_queue(arn))
    if is_known:
        return ""
    names = yield from show(list_all_topics(context) if service == "sns" else list_all_queues(context))
    similar = suggest(name, names or ())
    return f"There is no {kind} '{name}'." + (f" Did you mean '{similar}'?" if similar else "")


def check_target(queue: str, context: Context) -> Operation[None]:
    """Raises QueueDoesNotExist if a form names a queue that does not exist. An empty name passes."""
    if queue and (yield from find_missing(build_queue_arn(queue, context), context)):
        raise QueueDoesNotExist


def check_topic(name: str, context: Context) -> Operation[None]:
    """Raises NoSuchThing if the account has no topic of this name."""
    if not (yield from is_topic(name, context)):
        raise NoSuchThing(f"There is no topic '{name}'.")


# --- what does not exist ---------------------------------------------------------------------------------------------
class Missing(NamedTuple):
    """A resource that does not exist. `deletion` is the action of its deletion, and `target` its ARN, or the part of
    its ARN before a random id. `path` and `title` are those of the list. `list_names` returns names of others.
    """

    noun: str
    name: str
    deletion: str
    target: str
    path: str
    title: str
    list_names: Callable[[], Operation[list[str]]] | None = None


async def show_error(page: Page, error: AwsError) -> Response:
    """Returns the page of an error. If the resource in the path does not exist, the page says more about it."""
    missing = find_missing_resource(page, error) if page.viewer is not None and not is_poll(page) else None
    # PostgreSQL stores no NUL character, so nothing ever had such a name, and a query with it fails.
    if missing is None or find_status(error) != 404 or "\0" in missing.target + missing.path:
        return error_page(page, error)
    deleted = None
    if missing.deletion:
        deleted = await page.run(show(find_deletion(missing.deletion, missing.target, page.context)))
    names = None if missing.list_names is None else await page.run(show(missing.list_names()))
    return error_page(page, error, missing=missing, deleted=deleted, similar=suggest(missing.name, names or []))


def find_missing_resource(page: Page, error: AwsError) -> Missing | None:
    """Returns the resource in the path that the error says does not exist, or None for other errors."""
    names, context = page.request.path_params, page.context
    if isinstance(error, QueueDoesNotExist) and "name" in names:
        name = names["name"]
        arn = build_arn("sqs", name, context)
        return Missing(
            "queue", name, "sqs:DeleteQueue", arn, "/console/queues", "Queues", lambda: list_all_queues(context)
        )
    if isinstance(error, MessageNotFound) and {"name", "message_id"} <= names.keys():
        path = f"/console/queues/{segment(names['name'])}/messages"
        return Missing("message", names["message_id"], "", "", path, f"Messages of {names['name']}")
    if isinstance(error, NoSuchThing | NotFound) and names.keys() == {"topic"}:
        name = names["topic"]
        arn = build_arn("sns", name, context)
        return Missing(
            "topic", name, "sns:DeleteTopic", arn, "/console/topics", "Topics", lambda: list_all_topics(context)
        )
    return _find_missing_bus(names, error, context) or _find_missing_schedule(names, error, context)


def _find_missing_bus(names: dict[str, str], error: AwsError, context: Context) -> Missing | None:
    prefix = build_arn("events", "", context)
    if isinstance(error, BusNotFound) and "bus" in names:
        arn = f"{prefix}{BUS}/{names['bus']}"
        return Missing(
            "event bus", names["bus"], "events:DeleteEventBus", arn, "/console/buses", "Event buses",
            lambda: _list_buses(context),
        )  # fmt: skip
    if isinstance(error, SubscriberNotFound) and "subscriber" in names:
        bus, name = names["bus"], names["subscriber"]
        arn = f"{prefix}{SUBSCRIBER}/{name}"
        return Missing(
            "subscriber", name, "events:DeleteSubscriber", arn, f"/console/buses/{segment(bus)}", f"Event bus {bus}",
            lambda: _list_subscribers(bus, context),
        )  # fmt: skip
    return None


def _find_missing_schedule(names: dict[str, str], error: AwsError, context: Context) -> Missing | None:
    if not isinstance(error, ScheduleNotFound) or "schedule" not in names:
        return None
    name = names["schedule"]
    arn = build_schedule_arn(name, context)
    return Missing("schedule", name, "scheduler:DeleteSchedule", arn, "/console/schedules", "Schedules")


def _list_buses(context: Context) -> Operation[list[str]]:
    page = yield from list_buses(MAX_BUSES, None, context)
    return [bus.name for bus in page.buses]


def _list_subscribers(bus: str, context: Context) -> Operation[list[str]]:
    page = yield from list_subscribers(bus, MAX_BUSES, None, context)
    return [row.name for row in page.subscribers if row.account == context.account_id]
