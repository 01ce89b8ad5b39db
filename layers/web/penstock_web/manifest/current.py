"""Reads the state of an endpoint, and represents the state like penstock.yaml."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, TypeVar
from urllib.parse import quote

import msgspec

from penstock.sns.attributes import FIFO_TOPIC, TOPIC
from penstock.sqs.attributes import DEFAULTS, EXTENSIONS, FIFO, FIFO_DEFAULTS, STANDARD
from penstock_web.local_error import LocalError

from .buses import read_bindings, read_buses, shorten_buses
from .destinations import name_secrets, read_destinations
from .endpoint import ManifestEndpoint
from .model import (
    DeadLetterTarget,
    Document,
    EventBinding,
    Manifest,
    ManifestMapping,
    ManifestQueue,
    ManifestSubscription,
    ManifestTopic,
    Value,
)
from .references import References
from .state import Current, Rest

T = TypeVar("T")
Warn = Callable[[str], None]
QUEUE_DEFAULTS: Final[Mapping[str, str]] = {
    **DEFAULTS,
    **FIFO_DEFAULTS,
    "archive": "false",
    "history": "true",
    "paused": "false",
}
"""The default values of queue attributes, except VisibilityTimeout. Its default is a setting of the service."""
TOPIC_DEFAULTS: Final = {"DisplayName": "", "ContentBasedDeduplication": "false", "FifoThroughputScope": "Topic"}
_POLICIES: Final = ("Policy", "RedrivePolicy", "RedriveAllowPolicy")
_QUEUE_ATTRIBUTES: Final = (frozenset(STANDARD) | frozenset(FIFO)) - {"FifoQueue", *_POLICIES}
_TOPIC_ATTRIBUTES: Final = (frozenset(TOPIC) | frozenset(FIFO_TOPIC)) - {"FifoTopic", "Policy"}
_NOT_MOVED: Final = frozenset(("PendingConfirmation", "Deleted"))


def read_endpoint(endpoint: ManifestEndpoint, rest: Rest | None, warn: Warn, *, strict: bool = True) -> Current:
    """Reads queues and topics. Also reads event bindings, mappings, schedules and buses if `rest` is given. Calls
    `warn` for each resource that the file cannot describe. If `strict` is false, also calls `warn` for resources that
    the service cannot list, such as the topics of a service without SNS. Raises LocalError, also if requests to SQS and
    requests to `rest` are for different accounts.
    """
    if rest:
        _refuse_two_accounts(endpoint.references.account, rest.read_account())
    read_or_warn = _Reader(warn, strict)
    found = Current()
    no_tags: dict[str, str] = {}
    no_topics: list[str] = []
    for name in endpoint.list_queues():
        found.manifest.queues[name] = queue = ManifestQueue()
        attributes = endpoint.read_queue_attributes(name)
        _read_queue(queue, attributes, endpoint.references)
        queue.tags = read_or_warn(partial(endpoint.read_queue_tags, name), no_tags)
        found.messages[name] = int(attributes.get("ApproximateNumberOfMessages") or 0)
        if rest:
            _read_extensions(found, name, rest)
    for arn in read_or_warn(endpoint.list_topics, no_topics):
        topic = found.manifest.topics[arn.rpartition(":")[2]] = ManifestTopic()
        _read_topic(topic, endpoint.read_topic_attributes(arn))
        topic.tags = read_or_warn(partial(endpoint.read_topic_tags, arn), no_tags)
        _read_subscriptions(found, arn, topic, endpoint, warn)
    if rest:
        _read_mappings(found, rest, endpoint.references)
        _read_schedules(found, rest, warn)
        read_destinations(found, rest)
        read_buses(found, rest, endpoint)
    return found


def _refuse_two_accounts(of_aws: str, of_rest: str) -> None:
    """Raises LocalError if the accounts differ. A plan would otherwise mix, and delete, resources of both."""
    if of_aws != of_rest:
        raise LocalError(
            f"the AWS key is for the account {of_aws}, but REST requests are for the account {of_rest}. Set "
            "AWS_ACCESS_KEY_ID and PENSTOCK_TOKEN to keys of the same account"
        )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads resources that some services cannot list. If `strict` is false, a failed read causes a warning and an empty
    result.
    """

    warn: Warn
    strict: bool

    def __call__(self, read: Callable[[], T], nothing: T) -> T:
        try:
            return read()
        except LocalError as error:
            if self.strict:
                raise
            self.warn(f"left out: {error}")
            return nothing


def _read_queue(queue: ManifestQueue, attributes: Mapping[str, str], names: References) -> None:
    queue.attributes = {key: value for key, value in attributes.items() if key in _QUEUE_ATTRIBUTES and value}
    redrive = _json(attributes.get("RedrivePolicy"))
    target = redrive.get("deadLetterTargetArn")
    queue.dead_letters = (
        DeadLetterTarget(names.name(str(target)), int(str(redrive.get("maxReceiveCount", 1)))) if target else None
    )
    allow = _json(attributes.get("RedriveAllowPolicy"))
    sources = allow.get("sourceQueueArns")
    permission = str(allow.get("redrivePermission", ""))
    kinds: dict[str, Literal["all", "none"]] = {"allowAll": "all", "denyAll": "none"}
    queue.dead_letters_from = (
        [names.name(str(arn)) for arn in sources] if isinstance(sources, list) else kinds.get(permission)
    )
    queue.policy = _json(attributes.get("Policy")) or None
    queue.events = []


def _read_extensions(found: Current, name: str, rest: Rest) -> None:
    queue = found.manifest.queues[name]
    path = f"/queues/{quote(name, safe='')}"
    shown = rest.call("GET", path).get("attributes")
    extensions = shown if isinstance(shown, dict) else {}
    queue.attributes |= {key: str(value) for key, value in extensions.items() if key in EXTENSIONS}
    rows = read_bindings(rest.call("GET", f"{path}/subscriptions", limit=1_000)["subscriptions"])
    queue.events = [EventBinding(row.pattern, row.filter_policy) for row in rows]
    found.bindings |= {(name, row.pattern): row.id for row in rows}


def _read_topic(topic: ManifestTopic, attributes: Mapping[str, str]) -> None:
    topic.attributes = {key: value for key, value in attributes.items() if key in _TOPIC_ATTRIBUTES and value}
    policy = _json(attributes.get("Policy"))
    topic.policy = None if not policy or policy.get("Id") == "__default_policy_ID" else policy


def _read_subscriptions(
    found: Current, topic_arn: str, topic: ManifestTopic, endpoint: ManifestEndpoint, warn: Warn
) -> None:
    rows: list[ManifestSubscription] = []
    name = topic_arn.rpartition(":")[2]
    for arn, protocol, address in endpoint.list_subscriptions(topic_arn):
        if protocol not in ("sqs", "http", "https"):
            warn(f"left out: the subscription of topic {name} to {protocol} {address}")
            continue
        attributes = {} if arn in _NOT_MOVED else endpoint.read_subscription_attributes(arn)
        redrive = _json(attributes.get("RedrivePolicy")).get("deadLetterTargetArn")
        row = ManifestSubscription(
            queue=endpoint.references.name(address) if protocol == "sqs" else None,
            url=None if protocol == "sqs" else address,
            filter=_json(attributes.get("FilterPolicy")) or None,
            filter_on="body" if attributes.get("FilterPolicyScope") == "MessageBody" else "attributes",
            raw=attributes.get("RawMessageDelivery") == "true",
            dead_letters=endpoint.references.name(str(redrive)) if redrive else None,
            replay=_json(attributes.get("ReplayPolicy")) or None,
        )
        rows.append(row)
        found.subscription_arns[name, row.destination] = arn
    topic.subscriptions = sorted(rows, key=lambda row: row.destination)


class CurrentMapping(msgspec.Struct):
    """A mapping in the REST API's response."""

    id: str
    queue: str
    function: str
    state: str
    batch_size: int
    window_secs: int
    max_concurrency: int | None
    filters: list[Document]
    report_failures: bool
    tags: dict[str, str]


def _read_mappings(found: Current, rest: Rest, names: References) -> None:
    for each in found.manifest.queues.values():
        each.mappings = []
    following: object = None
    while True:
        page = rest.call("GET", "/mappings", next=following)
        for shown in msgspec.convert(page["mappings"], list[CurrentMapping]):
            mapped = found.manifest.queues.get(shown.queue)
            if mapped is None:
                continue  # Another client has just deleted the queue.
            function = names.function(shown.function)
            found.mapping_ids[shown.queue, function] = shown.id
            row = ManifestMapping(
                function, shown.state == "enabled", shown.batch_size, shown.window_secs, shown.max_concurrency,
                shown.filters, shown.report_failures, shown.tags,
            )  # fmt: skip
            mapped.mappings = sorted([*(mapped.mappings or ()), row], key=lambda row: row.function)
        if not (following := page.get("next")):
            return


class CurrentSchedule(msgspec.Struct):
    """A schedule in the REST API's response."""

    name: str
    expression: str
    timezone: str
    jitter_secs: int
    catchup: bool
    catchup_limit: int
    failure_threshold: int
    overlap: str
    target: Document
    status: str
    last_error: str | None = None
    start_at: str | None = None
    end_at: str | None = None
    cron: str | None = None
    fire_at: str | None = None


SCHEDULE_DEFAULTS: Final[Document] = {
    "timezone": "UTC",
    "jitter_secs": 0,
    "catchup": False,
    "catchup_limit": 100,
    "failure_threshold": 3,
    "overlap": "allow",
    "status": "active",
    "start_at": None,
    "end_at": None,
}


def _read_schedules(found: Current, rest: Rest, warn: Warn) -> None:
    page = rest.call("GET", "/schedules")
    for name in msgspec.convert(page.get("unreadable", []), list[str]):
        warn(f"left out: the schedule {name}, because the caller lacks the right scheduler:GetSchedule")
    for shown in msgspec.convert(page["schedules"], list[CurrentSchedule]):
        if "arn" in shown.target or (shown.cron is None and shown.fire_at is None):
            warn(f"left out: the schedule {shown.name}, because EventBridge Scheduler created it")
            continue
        values: Document = msgspec.to_builtins(shown)
        found.manifest.schedules[shown.name] = {
            _expression_name(shown): shown.expression,
            "target": {key: value for key, value in shown.target.items() if value not in (None, {})},
            **{key: values[key] for key in SCHEDULE_DEFAULTS},
        }


def _expression_name(shown: CurrentSchedule) -> str:
    if shown.fire_at is not None:
        return "fire_at"
    if len(shown.expression.split()) in (5, 6) and shown.expression == shown.cron:
        return "cron"
    return "every" if shown.expression[:1].isdigit() and shown.expression[-1:] in "smhd" else "when"


def _json(text: str | None) -> Document:
    if not text:
        return {}
    value = json.loads(text)
    return value if isinstance(value, dict) else {}


def portable(found: Manifest, endpoint: ManifestEndpoint) -> Manifest:
    """Makes a manifest independent of an installation: removes defaults, and replaces the account and the region in
    policies with `${account}` and `${region}`.
    """
    names = endpoint.references
    for queue in found.queues.values():
        queue.attributes = without(queue.attributes, QUEUE_DEFAULTS)
        queue.policy = names.portable(queue.policy)
        _leave_out_empty(queue, "policy", "tags", "events", "mappings", "dead_letters", "dead_letters_from")
    for topic in found.topics.values():
        topic.attributes = without(topic.attributes, TOPIC_DEFAULTS)
        topic.policy = names.portable(topic.policy)
        _leave_out_empty(topic, "policy", "tags", "subscriptions")
    for name, schedule in found.schedules.items():
        found.schedules[name] = {
            key: value
            for key, value in schedule.items()
            if key not in SCHEDULE_DEFAULTS or value != SCHEDULE_DEFAULTS[key]
        }
    name_secrets(found.connections)
    for destination in found.api_destinations.values():
        destination.description = destination.description or msgspec.UNSET
    shorten_buses(found.buses, endpoint)
    return found


def without(values: Mapping[str, Value], usual: Mapping[str, str]) -> dict[str, Value]:
    """Removes default values. Converts numbers and booleans to YAML's types."""
    return {key: _plain(value) for key, value in values.items() if usual.get(key) != value}


def _plain(value: Value) -> Value:
    """Converts a text such as "30" to a number. Does not convert "030", because a number would lose the zero."""
    if value in ("true", "false"):
        return value == "true"
    if isinstance(value, str) and value.isascii() and value.isdigit() and str(int(value)) == value:
        return int(value)
    return value


def _leave_out_empty(part: ManifestQueue | ManifestTopic, *names: str) -> None:
    for name in names:
        if not getattr(part, name):
            setattr(part, name, msgspec.UNSET)
