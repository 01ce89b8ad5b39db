"""Whether the service would take each value of the file, before the first change is made."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import msgspec

from penstock.access.users import BUILT_IN
from penstock.errors import AwsError
from penstock.mappings.checks import check_options, check_tags
from penstock.mappings.filters import compiled
from penstock.mappings.operations import options_of
from penstock.mappings.targets import target_of
from penstock.sns.attributes import check_subscription_attributes, check_topic_attributes
from penstock.sns.filter_policy.compile import compile_policy
from penstock.sqs.attributes import check_queue_attributes
from penstock_web.native.documents import decode_document
from penstock_web.native.mappings.documents import new_mapping
from penstock_web.native.mappings.operations import create_request
from penstock_web.native.schedules.checks import checked_name, new_schedule_fields
from penstock_web.native.schedules.documents import read_schedule
from penstock_web.system_account import LocalError

from .model import Document, Manifest, Mapping, Queue, Topic
from .plan import text


def check(manifest: Manifest) -> None:
    """Raises LocalError for the first value that is refused."""
    for name, queue in manifest.queues.items():
        _tried(f"the queue {name}", partial(_check_queue, name, queue))
    for name, topic in manifest.topics.items():
        _tried(f"the topic {name}", partial(_check_topic, name, topic))
    for name, schedule in manifest.schedules.items():
        _tried(f"the schedule {name}", partial(_check_schedule, name, schedule))
    for name, user in manifest.users.items():
        unknown = [policy for policy in user.policies if isinstance(policy, str) and policy not in BUILT_IN]
        if unknown:
            raise LocalError(
                f"the user {name}: a policy is {', '.join(BUILT_IN)} or a document, not {unknown[0]!r}"
            )


def _tried(what: str, run: Callable[[], object]) -> None:
    try:
        run()
    except AwsError as error:
        raise LocalError(f"{what}: {' '.join(str(error).split())}") from None


def _check_queue(name: str, queue: Queue) -> None:
    attributes = {key: text(value) for key, value in queue.attributes.items()}
    if isinstance(queue.policy, dict):
        attributes["Policy"] = json.dumps(queue.policy)
    check_queue_attributes(attributes, name.endswith(".fifo"), native=True)
    for row in queue.events or ():
        _check_filter(row.filter, "MessageBody")
    for mapping in queue.mappings or ():
        _check_mapping(name, mapping)


def _check_mapping(queue: str, mapping: Mapping) -> None:
    body = msgspec.json.encode({"queue": queue, **msgspec.structs.asdict(mapping)})
    request = create_request(decode_document(new_mapping, body), queue)
    options = options_of(request)
    check_options(options, fifo=queue.endswith(".fifo"))
    compiled(options.filter_criteria)
    check_tags(mapping.tags)
    target_of(mapping.function, "0" * 12, "us-east-1")


def _check_topic(name: str, topic: Topic) -> None:
    attributes = {key: text(value) for key, value in topic.attributes.items()}
    check_topic_attributes(attributes, name.endswith(".fifo"))
    for row in topic.subscriptions or ():
        raw = {"RawMessageDelivery": "true"} if row.raw else {}
        check_subscription_attributes(raw, "sqs" if row.queue else "https")
        _check_filter(row.filter, "MessageBody" if row.filter_on == "body" else "MessageAttributes")


def _check_filter(policy: Document | None, scope: str) -> None:
    if policy:
        compile_policy(json.dumps(policy), scope)


def _check_schedule(name: str, schedule: Document) -> None:
    new_schedule_fields(read_schedule(msgspec.json.encode({**schedule, "name": checked_name(name)})))
