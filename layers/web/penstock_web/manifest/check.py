"""Checks the file's values before the first change, and reports all mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import msgspec

from penstock.access.users import BUILT_IN
from penstock.aws import bus_arn
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.sns_arn import is_topic_name
from penstock.documents.routing_keys import is_pattern
from penstock.endpoint import find_endpoint_problem
from penstock.errors import AwsError
from penstock.event_sources.checks import check_options, check_tags
from penstock.event_sources.filters import compile_filters
from penstock.event_sources.operations import read_options
from penstock.event_sources.targets import parse_target
from penstock.events.patterns import check_filters
from penstock.events.shapes import Filter, FilterConfiguration
from penstock.management.buses.types import CONFIGURATION
from penstock.management.connections import check_new_name
from penstock.management.mappings import create_request, read_mapping
from penstock.management.policies import find_policy_problem
from penstock.management.schedules.checks import (
    build_new_fields,
    check_name,
    check_target,
    parse_time,
    read_expression,
)
from penstock.management.schedules.types import EXPRESSION_FORMS, NewSchedule, PreviewRequest, read_schedule
from penstock.sns.archive_policies import check_replay_policy
from penstock.sns.attributes import check_subscription_attributes, check_topic_attributes
from penstock.sns.filter_policy.compile import compile_policy, compile_topic_policy
from penstock.sqs.attributes import check_queue_attributes
from penstock.sqs.validation import check_queue_name
from penstock.sqs.validation import check_tags as check_queue_tags
from penstock_web.local_error import LocalError

from .changes import text
from .destinations import SHORT, check_connection
from .model import (
    DeadLetterTarget,
    Document,
    EventBinding,
    Manifest,
    ManifestApiDestination,
    ManifestBus,
    ManifestMapping,
    ManifestQueue,
    ManifestSubscriber,
    ManifestSubscription,
)
from .model import ManifestTopic as Topic
from .references import References

Scope = Literal["DATA", "METADATA", "SYSTEM_METADATA"]
Place = tuple[str, ...]
"""The path to a value: the keys and list indexes from the top of the file."""
Mistake = Callable[[Place, str], LocalError]
_USUAL_TARGET: Document = {"target": {}}
_CHECKED_TOGETHER = frozenset(("queue", "topic", "message", "workflow", "input"))


@dataclass(slots=True)
class Checker:
    """Collects the mistakes in the values. `mistake` builds an error from a place and a reason."""

    mistake: Mistake
    mistakes: list[LocalError] = field(default_factory=list)

    def accepts(self, place: Place, check: Callable[..., object], *arguments: object) -> bool:
        """Returns whether the check accepts the arguments. If not, adds the reason to the mistakes."""
        try:
            check(*arguments)
        except (AwsError, LocalError) as error:
            reason = f"{error} {(isinstance(error, AwsError) and error.detail) or ''}"
            self.mistakes.append(self.mistake(place, " ".join(reason.split()).removesuffix(".")))
            return False
        return True

    def check_each(self, place: Place, values: Mapping[str, str], check: Callable[[dict[str, str]], object]) -> None:
        """Checks each value separately, and then all accepted values together."""
        good = {key: value for key, value in values.items() if self.accepts((*place, key), check, {key: value})}
        self.accepts(place, check, good)


def check(manifest: Manifest, given: Document, mistake: Mistake) -> list[LocalError]:
    """Returns an error for each value that the service would refuse. `given` contains the file's schedules, including
    members that the manifest omits because their types are wrong.
    """
    checker = Checker(mistake)
    for name, queue in manifest.queues.items():
        _check_queue(checker, ("queues", name), name, queue)
    for name, topic in manifest.topics.items():
        _check_topic(checker, ("topics", name), name, topic)
    for name, schedule in manifest.schedules.items():
        asked = given.get(name)
        _check_schedule(checker, ("schedules", name), schedule, asked if isinstance(asked, dict) else {})
    _check_api_destinations(checker, manifest)
    for name, bus in manifest.buses.items():
        _check_bus(checker, ("buses", name), bus)
    for name, user in manifest.users.items():
        for number, policy in enumerate(user.policies):
            checker.accepts(("users", name, "policies", str(number)), _check_user_policy, policy)
    return checker.mistakes


def check_name_alone(section: str, name: str, mistake: Mistake) -> list[LocalError]:
    """Checks only the name of an entry, because the rest of the entry is invalid."""
    checker = Checker(mistake)
    if section == "queues":
        checker.accepts((section, name), partial(check_queue_name, name, fifo=is_fifo_name(name)))
    elif section == "topics":
        checker.accepts((section, name), _check_topic_name, name)
    elif section == "schedules":
        checker.accepts((section, name), check_name, name)
    elif section in {"connections", "api_destinations"}:
        checker.accepts((section, name), check_new_name, name)
    elif section == "buses":
        checker.accepts((section, name), _check_bus_name, name)
    return checker.mistakes


def list_named_queues(manifest: Manifest) -> Iterator[tuple[Place, str]]:
    """Yields each reference to a queue: the place in the file, and the queue's name."""
    for name, queue in manifest.queues.items():
        if isinstance(queue.dead_letters, DeadLetterTarget):
            yield ("queues", name, "dead_letters", "queue"), queue.dead_letters.queue
    for name, topic in manifest.topics.items():
        for number, row in enumerate(topic.subscriptions or ()):
            place = ("topics", name, "subscriptions", str(number))
            used = (((*place, "queue"), row.queue), ((*place, "dead_letters"), row.dead_letters))
            yield from ((where, queue) for where, queue in used if queue)
    yield from _list_targets(manifest)


def _list_targets(manifest: Manifest) -> Iterator[tuple[Place, str]]:
    for name, schedule in manifest.schedules.items():
        target = schedule.get("target")
        if isinstance(target, dict) and isinstance(destination := target.get("queue"), str):
            yield ("schedules", name, "target", "queue"), destination


# --- queues ----------------------------------------------------------------------------------------------------------
def _check_queue(checker: Checker, place: Place, name: str, queue: ManifestQueue) -> None:
    fifo = is_fifo_name(name)
    checker.accepts(place, partial(check_queue_name, name, fifo=fifo))
    if isinstance(queue.tags, dict):
        checker.check_each((*place, "tags"), queue.tags, check_queue_tags)
    if isinstance(queue.dead_letters, DeadLetterTarget):
        checker.accepts((*place, "dead_letters", "queue"), _check_dead_letters, queue.dead_letters.queue, fifo)
    check_attributes = partial(check_queue_attributes, fifo=fifo, extensions=True)
    attributes = {key: text(value) for key, value in queue.attributes.items()}
    checker.check_each((*place, "attributes"), attributes, check_attributes)
    if isinstance(queue.policy, dict):
        checker.accepts((*place, "policy"), check_attributes, {"Policy": _fill_policy(queue.policy)})
    _check_events(checker, place, queue.events or ())
    for number, mapping in enumerate(queue.mappings or ()):
        _check_mapping(checker, (*place, "mappings", str(number)), name, mapping)


def _check_events(checker: Checker, place: Place, events: Iterable[EventBinding]) -> None:
    for number, row in enumerate(events):
        here = (*place, "events", str(number))
        checker.accepts((*here, "pattern"), _check_pattern, row.pattern)
        checker.accepts((*here, "filter"), _check_filter, row.filter, "MessageBody")


def _check_dead_letters(target: str, fifo: bool) -> None:
    if is_fifo_name(target) != fifo:
        raise LocalError(
            "the dead-letter queue of a FIFO queue must be FIFO, and that of a standard queue must be standard"
        )


def check_throughput(manifest: Manifest, found: Manifest, mistake: Mistake) -> list[LocalError]:
    """Checks FIFO attributes that depend on each other. Values that the file omits are the service's current values in
    `found`.
    """
    checker = Checker(mistake)
    for name, queue in manifest.queues.items():
        existing = found.queues[name].attributes if name in found.queues else {}
        values = {
            key: text(value)
            for key, value in (existing | queue.attributes).items()
            if key in ("DeduplicationScope", "FifoThroughputLimit")
        }
        place = ("queues", name, "attributes")
        if is_fifo_name(name):
            checker.accepts(place, partial(check_queue_attributes, values, fifo=True, creating=True))
    return checker.mistakes


def _fill_policy(policy: Document) -> str:
    """Returns a policy as JSON. Replaces `${account}` and `${region}` with example values."""
    return json.dumps(References("000000000000", "us-east-1").filled(policy))


def _check_pattern(pattern: str) -> None:
    if not is_pattern(pattern):
        raise LocalError(
            "a pattern consists of segments between dots; a segment is *, # or consists of letters, digits, '_' and '-'"
        )


def _check_filter(policy: Document | None, scope: str) -> None:
    if policy:
        compile_policy(json.dumps(policy), scope)


def _check_mapping(checker: Checker, place: Place, queue: str, mapping: ManifestMapping) -> None:
    checker.accepts(place, _check_options, queue, mapping)
    for number, pattern in enumerate(mapping.filters):
        checker.accepts((*place, "filters", str(number)), _check_filters, queue, mapping, pattern)
    checker.accepts((*place, "tags"), check_tags, mapping.tags)
    checker.accepts((*place, "function"), parse_target, mapping.function, "0" * 12, "us-east-1")


def _check_options(queue: str, mapping: ManifestMapping) -> None:
    body = msgspec.json.encode({"queue": queue, **msgspec.structs.asdict(mapping)})
    check_options(read_options(create_request(read_mapping(body), queue)), fifo=is_fifo_name(queue))


def _check_filters(queue: str, mapping: ManifestMapping, pattern: Document) -> None:
    body = msgspec.json.encode({"queue": queue, "function": mapping.function, "filters": [pattern]})
    compile_filters(create_request(read_mapping(body), queue).filter_criteria)


# --- topics ----------------------------------------------------------------------------------------------------------
def _check_topic(checker: Checker, place: Place, name: str, topic: Topic) -> None:
    fifo = is_fifo_name(name)
    checker.accepts(place, _check_topic_name, name)
    attributes = {key: text(value) for key, value in topic.attributes.items()}
    check_attributes = partial(check_topic_attributes, fifo=fifo)
    checker.check_each((*place, "attributes"), attributes, check_attributes)
    if isinstance(topic.policy, dict):
        checker.accepts((*place, "policy"), check_attributes, {"Policy": _fill_policy(topic.policy)})
    for number, row in enumerate(topic.subscriptions or ()):
        _check_subscription(checker, (*place, "subscriptions", str(number)), row, fifo=fifo)


def _check_topic_name(name: str) -> None:
    if not is_topic_name(name):
        raise LocalError("a topic's name must have 1 to 256 ASCII letters, digits, hyphens and underscores")


def _check_subscription(checker: Checker, place: Place, row: ManifestSubscription, *, fifo: bool) -> None:
    checker.accepts((*place, "queue" if row.queue else "url"), _check_destination, row, fifo)
    raw = {"RawMessageDelivery": "true"} if row.raw else {}
    checker.accepts(place, check_subscription_attributes, raw, "sqs" if row.queue else "https")
    scope = "MessageBody" if row.filter_on == "body" else "MessageAttributes"
    checker.accepts((*place, "filter"), _check_topic_filter, row.filter, scope)
    checker.accepts((*place, "replay"), _check_replay, row.replay, fifo)


def _check_replay(policy: Document | None, fifo: bool) -> None:
    if policy:
        if not fifo:
            raise LocalError("only a subscription to a FIFO topic can have a replay")
        check_replay_policy(json.dumps(policy))


def _check_destination(row: ManifestSubscription, fifo: bool) -> None:
    if row.url is None:
        if not fifo and is_fifo_name(row.queue or ""):
            raise LocalError("a FIFO queue can subscribe only to a FIFO topic")
    elif fifo:
        raise LocalError("a FIFO topic delivers only to queues")
    elif (problem := find_endpoint_problem(row.url, takes_credentials=True)) is not None:
        raise LocalError(f"Penstock cannot use this url: {problem}")


def _check_topic_filter(policy: Document | None, scope: str) -> None:
    if policy:
        compile_topic_policy(json.dumps(policy), scope)


# --- event buses -----------------------------------------------------------------------------------------------------


def _check_bus(checker: Checker, place: Place, bus: ManifestBus) -> None:
    checker.accepts(place, _check_bus_name, place[1])
    _check_events(checker, place, bus.events or ())
    for name, row in bus.subscribers.items() if isinstance(bus.subscribers, dict) else ():
        here = (*place, "subscribers", name)
        checker.accepts(here, _check_bus_name, name)
        checker.accepts((*here, "target"), _check_target_arn, row.target)
        checker.accepts((*here, "configuration"), _check_blocks, row)
        if isinstance(row.filters, dict):
            checker.accepts((*here, "filters"), _check_bus_filters, row.filters)


def _check_bus_name(name: str) -> None:
    if not bus_arn.is_name(name):
        raise LocalError("a name must have 1 to 256 letters, digits, '.', '-' and '_', and not begin with a sign")


def _check_target_arn(target: str) -> None:
    if not target.startswith(("arn:", SHORT)):
        raise LocalError(
            f"a target must be an ARN, such as arn:aws:sqs:${{region}}:${{account}}:orders, or {SHORT}NAME"
        )


def _check_blocks(row: ManifestSubscriber) -> None:
    if unknown := sorted(row.configuration.keys() - CONFIGURATION):
        raise LocalError(f"{unknown[0]!r} is not allowed here. Allowed: {', '.join(sorted(CONFIGURATION))}")


def _check_bus_filters(filters: Mapping[Scope, Document]) -> None:
    if filters:
        rows = [Filter(scope=scope, pattern=json.dumps(pattern)) for scope, pattern in filters.items()]
        check_filters(FilterConfiguration(filters=rows))


# --- API destinations ------------------------------------------------------------------------------------------------
def _check_api_destinations(checker: Checker, manifest: Manifest) -> None:
    for name, connection in manifest.connections.items():
        checker.accepts(("connections", name), check_new_name, name)
        checker.accepts(("connections", name), check_connection, connection)
    for name, row in manifest.api_destinations.items():
        checker.accepts(("api_destinations", name), check_new_name, name)
        checker.accepts(("api_destinations", name), _check_api_destination, row)


def _check_api_destination(row: ManifestApiDestination) -> None:
    check_new_name(row.connection)
    if (problem := find_endpoint_problem(row.invocation_endpoint, takes_credentials=False)) is not None:
        raise LocalError(f"Penstock cannot use this invocation_endpoint: {problem}")


# --- schedules and users ---------------------------------------------------------------------------------------------
def convert_schedule(schedule: object) -> NewSchedule:
    """Converts a schedule, even if the target is missing. Raises msgspec.ValidationError."""
    document = msgspec.convert(schedule, Document)
    return msgspec.json.decode(msgspec.json.encode(_USUAL_TARGET | document), type=NewSchedule)


def _check_schedule(checker: Checker, place: Place, schedule: Document, given: Document) -> None:
    """Checks the members of a schedule separately, and then together. `given` is the schedule in the file, including
    the members that `schedule` omits because they are invalid.
    """
    before = len(checker.mistakes)
    checker.accepts(place, check_name, place[1])
    new = convert_schedule(schedule)
    forms = {form: getattr(new, form) for form in EXPRESSION_FORMS if schedule.get(form) is not None}
    form = next(iter(forms), "")
    if not any(given.get(name) is not None and name not in forms for name in EXPRESSION_FORMS):
        here = (*place, form) if len(forms) == 1 else place
        checker.accepts(here, read_expression, PreviewRequest(**forms), "UTC")
    checker.accepts((*place, "timezone"), read_expression, PreviewRequest(every="1h"), new.timezone)
    for name in ("start_at", "end_at"):
        checker.accepts((*place, name), parse_time, name, getattr(new, name))
    target, asked = schedule.get("target"), given.get("target")
    if asked is None:
        checker.accepts(place, _refuse_missing_target)
    elif isinstance(target, dict) and isinstance(asked, dict) and asked.keys() & _CHECKED_TOGETHER <= target.keys():
        checker.accepts((*place, "target"), check_target, new.target)
    if len(checker.mistakes) == before and schedule == given:
        checker.accepts(place, lambda: build_new_fields(read_schedule(msgspec.json.encode(schedule))))


def _refuse_missing_target() -> None:
    raise LocalError("target: required")


def _check_user_policy(policy: str | Document) -> None:
    if isinstance(policy, str) and policy not in BUILT_IN:
        raise LocalError(f"a policy must be {', '.join(BUILT_IN)} or a document, not {policy!r}")
    if problem := find_policy_problem(policy if isinstance(policy, str) else json.dumps(policy)):
        raise LocalError(problem)
