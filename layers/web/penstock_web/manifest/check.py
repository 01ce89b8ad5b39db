"""Checks the file's values before the first change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec

from penstock.access.users import BUILT_IN
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.sns_arn import is_topic_name
from penstock.errors import AwsError
from penstock.event_sources.checks import check_options, check_tags
from penstock.event_sources.filters import compile_filters
from penstock.event_sources.operations import read_options
from penstock.event_sources.targets import parse_target
from penstock.management.mappings import create_request, read_mapping
from penstock.management.schedules.checks import build_new_fields, check_name
from penstock.management.schedules.types import read_schedule
from penstock.sns.attributes import check_subscription_attributes, check_topic_attributes
from penstock.sns.filter_policy.compile import compile_policy, compile_topic_policy
from penstock.sqs.attributes import check_queue_attributes
from penstock.sqs.validation import check_queue_name
from penstock.sqs.validation import check_tags as check_queue_tags
from penstock_web.local_error import LocalError

from .changes import text
from .model import Document, Manifest, ManifestMapping, ManifestQueue, ManifestTopic
from .references import References

Place = tuple[str, ...]
"""The path to a value: keys and numbers from the top of the file."""
Part = tuple[Place, Callable[[], object]]
Mistake = Callable[[Place, str], LocalError]


def check(manifest: Manifest, mistake: Mistake) -> list[LocalError]:
    """Returns an error for each value that the service would refuse. `mistake` builds the error from the place and
    the reason."""
    return list(_refused(_parts(manifest), mistake))


def check_name_alone(section: str, name: str, mistake: Mistake) -> list[LocalError]:
    """Checks the name of an entry that has another mistake."""
    checks: dict[str, Callable[[], object]] = {
        "queues": partial(check_queue_name, name, fifo=is_fifo_name(name)),
        "topics": partial(_check_topic_name, name),
        "schedules": partial(check_name, name),
    }
    return list(_refused([((section, name), checks[section])] if section in checks else [], mistake))


def _refused(parts: Iterable[Part], mistake: Mistake) -> Iterator[LocalError]:
    for place, run in parts:
        try:
            run()
        except (AwsError, LocalError) as error:
            reason = f"{error} {(isinstance(error, AwsError) and error.detail) or ''}"
            yield mistake(place, " ".join(reason.split()).removesuffix("."))


def _parts(manifest: Manifest) -> Iterator[Part]:
    for name, queue in manifest.queues.items():
        yield from _queue_parts(("queues", name), name, queue)
    for name, topic in manifest.topics.items():
        yield from _topic_parts(("topics", name), name, topic)
    for name, schedule in manifest.schedules.items():
        yield ("schedules", name), partial(_check_schedule, name, schedule)
    for name, user in manifest.users.items():
        for number, policy in enumerate(user.policies):
            yield ("users", name, "policies", str(number)), partial(_check_user_policy, policy)


def _queue_parts(place: Place, name: str, queue: ManifestQueue) -> Iterator[Part]:
    yield place, partial(check_queue_name, name, fifo=is_fifo_name(name))
    if isinstance(queue.tags, dict):
        yield (*place, "tags"), partial(check_queue_tags, queue.tags)
    check_attributes = partial(check_queue_attributes, fifo=is_fifo_name(name), extensions=True)
    attributes = {key: text(value) for key, value in queue.attributes.items()}
    yield (*place, "attributes"), partial(check_attributes, attributes)
    if isinstance(queue.policy, dict):
        yield (*place, "policy"), partial(check_attributes, {"Policy": _fill_policy(queue.policy)})
    for number, row in enumerate(queue.events or ()):
        yield (*place, "events", str(number), "filter"), partial(_check_filter, row.filter, "MessageBody")
    for number, mapping in enumerate(queue.mappings or ()):
        yield (*place, "mappings", str(number)), partial(_check_mapping, name, mapping)


def _fill_policy(policy: Document) -> str:
    """Returns a policy with an example account and region instead of references."""
    return json.dumps(References("000000000000", "us-east-1").filled(policy))


def _topic_parts(place: Place, name: str, topic: ManifestTopic) -> Iterator[Part]:
    yield place, partial(_check_topic_name, name)
    attributes = {key: text(value) for key, value in topic.attributes.items()}
    check_attributes = partial(check_topic_attributes, fifo=is_fifo_name(name))
    yield (*place, "attributes"), partial(check_attributes, attributes)
    if isinstance(topic.policy, dict):
        yield (*place, "policy"), partial(check_attributes, {"Policy": _fill_policy(topic.policy)})
    for number, row in enumerate(topic.subscriptions or ()):
        here = (*place, "subscriptions", str(number))
        raw = {"RawMessageDelivery": "true"} if row.raw else {}
        yield here, partial(check_subscription_attributes, raw, "sqs" if row.queue else "https")
        scope = "MessageBody" if row.filter_on == "body" else "MessageAttributes"
        yield (*here, "filter"), partial(_check_topic_filter, row.filter, scope)


def _check_topic_name(name: str) -> None:
    if not is_topic_name(name):
        raise LocalError("a topic's name has 1 to 256 ASCII letters, digits, hyphens and underscores")


def _check_mapping(queue: str, mapping: ManifestMapping) -> None:
    body = msgspec.json.encode({"queue": queue, **msgspec.structs.asdict(mapping)})
    request = create_request(read_mapping(body), queue)
    options = read_options(request)
    check_options(options, fifo=is_fifo_name(queue))
    compile_filters(options.filter_criteria)
    check_tags(mapping.tags)
    parse_target(mapping.function, "0" * 12, "us-east-1")


def _check_topic_filter(policy: Document | None, scope: str) -> None:
    if policy:
        compile_topic_policy(json.dumps(policy), scope)


def _check_filter(policy: Document | None, scope: str) -> None:
    if policy:
        compile_policy(json.dumps(policy), scope)


def _check_schedule(name: str, schedule: Document) -> None:
    build_new_fields(read_schedule(msgspec.json.encode({**schedule, "name": check_name(name)})))


def _check_user_policy(policy: str | Document) -> None:
    if isinstance(policy, str) and policy not in BUILT_IN:
        raise LocalError(f"a policy must be {', '.join(BUILT_IN)} or a document, not {policy!r}")
