"""Computes the changes that lead from the current to the desired state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

import msgspec

from penstock.sqs.attributes import EXTENSIONS

from .buses import BusPlanner, list_binding_steps, show_events
from .changes import Change, Differences, Phase, Step, differences, text
from .current import SCHEDULE_DEFAULTS
from .destinations import DestinationPlanner
from .endpoint import ManifestEndpoint
from .model import (
    DeadLetterTarget,
    Document,
    Manifest,
    ManifestMapping,
    ManifestQueue,
    ManifestSubscription,
    ManifestTopic,
)
from .references import References
from .state import Current, Rest


@dataclass(slots=True)
class Planner:
    """Computes a plan from the current and the desired state."""

    wanted: Manifest
    found: Current
    endpoint: ManifestEndpoint
    rest: Rest
    prune: bool = False

    def plan_changes(self) -> Iterator[Change]:
        """Yields all changes."""
        existing = self.found.manifest
        for name, queue in self.wanted.queues.items():
            yield from self._plan_queue(name, queue, existing.queues.get(name))
        for name, topic in self.wanted.topics.items():
            yield from self._plan_topic(name, topic, existing.topics.get(name))
        for name, schedule in self.wanted.schedules.items():
            yield from self._plan_schedule(name, schedule, existing.schedules.get(name))
        for name, queue in self.wanted.queues.items():
            yield from self._plan_mappings(name, queue, existing.queues.get(name))
        destinations, connections = self.wanted.api_destinations, self.wanted.connections
        yield from DestinationPlanner(connections, destinations, self.found, self.rest, self.prune).plan_changes()
        yield from BusPlanner(self.wanted.buses, self.found, self.endpoint, self.rest, self.prune).plan_changes()
        if self.prune:
            yield from self._plan_deletions()

    # --- queues ------------------------------------------------------------------------------------------------------
    def _plan_queue(self, name: str, wanted: ManifestQueue, existing: ManifestQueue | None) -> Iterator[Change]:
        changed = differences(self._queue_values(wanted), self._queue_values(existing) if existing else {})
        if not existing:
            yield Change("+", f"queue {name}", self._queue_steps(name, changed, wanted, new=True), changed)
        elif changed:
            yield Change("~", f"queue {name}", self._queue_steps(name, changed, wanted, new=False), changed)

    def _queue_values(self, queue: ManifestQueue) -> Document:
        """Returns the values that are given for a queue, by their names."""
        names = self.endpoint.references
        redrive, sources = queue.dead_letters, queue.dead_letters_from
        return {
            **{key: text(value) for key, value in queue.attributes.items()},
            **_include("dead_letters", msgspec.to_builtins(redrive) if redrive else redrive),
            **_include("dead_letters_from", sorted(sources) if isinstance(sources, list) else sources),
            **_include(
                "policy", names.filled(queue.policy) or None if queue.policy is not msgspec.UNSET else queue.policy
            ),
            **_include("tags", queue.tags),
            **_include("events", show_events(queue.events)),
        }

    def _queue_steps(self, name: str, changed: Differences, wanted: ManifestQueue, *, new: bool) -> list[Step]:
        attributes, references, extensions = self._queue_attributes(changed)
        tags = wanted.tags if isinstance(wanted.tags, dict) else {}
        endpoint, rest, path = self.endpoint, self.rest, f"/queues/{quote(name, safe='')}"
        steps: list[Step] = []
        if new:
            steps.append((Phase.QUEUES, partial(endpoint.create_queue, name, attributes, tags)))
        elif attributes:
            steps.append((Phase.QUEUES, partial(endpoint.set_queue, name, attributes)))
        if references:
            steps.append((Phase.REFERENCES, partial(endpoint.set_queue, name, references)))
        if extensions:
            steps.append((Phase.QUEUES, partial(rest.call, "PATCH", path, {"attributes": extensions})))
        if "tags" in changed and not new:
            gone = sorted(_keys(changed["tags"][0]) - tags.keys())
            steps.append((Phase.QUEUES, partial(endpoint.tag_queue, name, tags, gone)))
        if "events" in changed:
            existing = self.found.manifest.queues.get(name)
            ids = {pattern: id_ for (queue, pattern), id_ in self.found.bindings.items() if queue == name}
            old = existing.events if existing is not None else msgspec.UNSET
            bound = list_binding_steps(rest, {"queue_name": name}, old, wanted.events, ids)
            steps += [(Phase.REFERENCES, step) for step in bound]
        return steps

    def _queue_attributes(self, changed: Differences) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
        """Splits changed values into three groups: plain attributes of SQS, attributes that refer to other resources,
        and Penstock's additional attributes.
        """
        arn, attributes, references, extensions = self.endpoint.references.queue_arn, {}, {}, {}
        for key, (_, value) in changed.items():
            if key in EXTENSIONS:
                extensions[key] = str(value)
            elif key == "policy":
                references["Policy"] = json.dumps(value) if value else ""
            elif key == "dead_letters":
                redrive = msgspec.convert(value, DeadLetterTarget) if value else None
                references["RedrivePolicy"] = (
                    ""
                    if redrive is None
                    else json.dumps(
                        {"deadLetterTargetArn": arn(redrive.queue), "maxReceiveCount": redrive.max_receives}
                    )
                )
            elif key == "dead_letters_from":
                references["RedriveAllowPolicy"] = _allow_policy(value, arn)
            elif key not in ("tags", "events"):
                attributes[key] = str(value)
        return attributes, references, extensions

    # --- topics ------------------------------------------------------------------------------------------------------
    def _plan_topic(self, name: str, wanted: ManifestTopic, existing: ManifestTopic | None) -> Iterator[Change]:
        names, endpoint = self.endpoint.references, self.endpoint
        arn = names.topic_arn(name)

        def values(topic: ManifestTopic) -> Document:
            policy = topic.policy
            return {
                **{key: text(value) for key, value in topic.attributes.items()},
                **_include("policy", policy if policy is msgspec.UNSET else names.filled(policy) or None),
                **_include("tags", topic.tags),
            }

        changed = differences(values(wanted), values(existing) if existing else {})
        attributes = {
            "Policy" if key == "policy" else key: (json.dumps(new) if new else "") if key == "policy" else str(new)
            for key, (_, new) in changed.items()
            if key != "tags"
        }
        tags = wanted.tags if isinstance(wanted.tags, dict) else {}
        steps: list[Step] = []
        if existing is None:
            given = {key: value for key, value in attributes.items() if value}
            steps.append((Phase.TOPICS, partial(endpoint.create_topic, name, given, tags)))
        else:
            for key, value in attributes.items():
                steps.append((Phase.TOPICS, partial(endpoint.set_topic, arn, key, value)))
            if "tags" in changed:
                gone = sorted(_keys(changed["tags"][0]) - tags.keys())
                steps.append((Phase.TOPICS, partial(endpoint.tag_topic, arn, tags, gone)))
        if existing is None or changed:
            yield Change("~" if existing else "+", f"topic {name}", steps, changed)
        old = {row.destination: row for row in (existing.subscriptions or [] if existing else [])}
        for row in wanted.subscriptions or ():
            yield from self._plan_subscription(name, row, old.get(row.destination))
        if self.prune and wanted.subscriptions is not msgspec.UNSET:
            kept = {row.destination for row in wanted.subscriptions}
            yield from (self._plan_unsubscription(name, destination) for destination in old.keys() - kept)

    def _plan_unsubscription(self, topic: str, destination: str) -> Change:
        arn = self.found.subscription_arns[topic, destination]
        what = f"subscription {topic} to {destination}"
        if not arn.startswith("arn:"):
            return Change("-", what, [], remark=" (not confirmed; the service deletes the subscription later)")
        return Change("-", what, [(Phase.SUBSCRIPTIONS_GO, partial(self.endpoint.unsubscribe, arn))])

    def _plan_subscription(
        self, topic: str, wanted: ManifestSubscription, existing: ManifestSubscription | None
    ) -> Iterator[Change]:
        names, endpoint = self.endpoint.references, self.endpoint
        arn = self.found.subscription_arns.get((topic, wanted.destination), "")
        if existing and not arn.startswith("arn:"):
            return  # SNS does not report the attributes of an unconfirmed subscription.
        changed = differences(_subscription_values(wanted), _subscription_values(existing) if existing else {})
        if existing is None:
            changed = {key: pair for key, pair in changed.items() if pair[1] not in (None, False, "attributes")}
        elif not changed:
            return
        attributes = _subscription_attributes(wanted, changed, names, new=existing is None)
        protocol = "sqs" if wanted.queue else (wanted.url or "").partition(":")[0]
        address = names.queue_arn(wanted.queue) if wanted.queue else wanted.url or ""
        topic_arn = names.topic_arn(topic)
        what = f"subscription {topic} to {wanted.destination}"
        if existing is None:
            run = partial(endpoint.subscribe, topic_arn, protocol, address, attributes)
            yield Change("+", what, [(Phase.SUBSCRIPTIONS, run)], changed)
            return
        steps: list[Step] = [
            (Phase.SUBSCRIPTIONS, partial(endpoint.set_subscription, arn, key, value))
            for key, value in attributes.items()
        ]
        yield Change("~", what, steps, changed)

    # --- mappings ----------------------------------------------------------------------------------------------------
    def _plan_mappings(self, name: str, wanted: ManifestQueue, existing: ManifestQueue | None) -> Iterator[Change]:
        if wanted.mappings is msgspec.UNSET:
            return
        function = self.endpoint.references.function
        old = {row.function: row for row in (existing.mappings or [] if existing else [])}
        new = {function(row.function): row for row in wanted.mappings}
        for target, row in new.items():
            yield from self._plan_mapping(name, target, row, old.get(target))
        if self.prune:
            yield from (self._plan_mapping_deletion(name, target) for target in sorted(old.keys() - new.keys()))

    def _plan_mapping_deletion(self, name: str, target: str) -> Change:
        step = partial(self.rest.call, "DELETE", f"/mappings/{self.found.mapping_ids[name, target]}")
        return Change("-", f"mapping {name} to {target}", [(Phase.MAPPINGS_GO, step)])

    def _plan_mapping(
        self, name: str, target: str, wanted: ManifestMapping, existing: ManifestMapping | None
    ) -> Iterator[Change]:
        values, what = _mapping_values(wanted), f"mapping {name} to {target}"
        if existing is None:
            body = {"queue": name, "function": wanted.function, **values}
            usual = _mapping_values(ManifestMapping(target))
            step = (Phase.MAPPINGS, partial(self.rest.call, "POST", "/mappings", body))
            yield Change("+", what, [step], differences(values, usual))
        elif changed := differences(values, _mapping_values(existing)):
            path = f"/mappings/{self.found.mapping_ids[name, target]}"
            body = {key: value for key, (_, value) in changed.items()}
            yield Change("~", what, [(Phase.MAPPINGS, partial(self.rest.call, "PATCH", path, body))], changed)

    # --- schedules and removals ------------------------------------------------------------------------------------
    def _plan_schedule(self, name: str, wanted: Document, existing: Document | None) -> Iterator[Change]:
        changed = differences({**SCHEDULE_DEFAULTS, **wanted}, existing or {})
        path, rest = f"/schedules/{quote(name, safe='')}", self.rest
        step = (Phase.SCHEDULES, partial(rest.call, "PUT", path, wanted))
        if existing is None:
            given = {key: (None, value) for key, value in wanted.items()}
            yield Change("+", f"schedule {name}", [step], given)
        elif changed:
            yield Change("~", f"schedule {name}", [step], changed)

    def _plan_deletions(self) -> Iterator[Change]:
        existing, wanted, endpoint, rest = self.found.manifest, self.wanted, self.endpoint, self.rest
        step: Step
        for name in sorted(existing.schedules.keys() - wanted.schedules.keys()):
            path = f"/schedules/{quote(name, safe='')}"
            step = (Phase.SCHEDULES_GO, partial(rest.call, "DELETE", path))
            yield Change("-", f"schedule {name}", [step])
        for name in sorted(existing.topics.keys() - wanted.topics.keys()):
            arn = endpoint.references.topic_arn(name)
            yield Change("-", f"topic {name}", [(Phase.TOPICS_GO, partial(endpoint.delete_topic, arn))])
        for name in sorted(existing.queues.keys() - wanted.queues.keys()):
            yield from (self._plan_mapping_deletion(name, row.function) for row in existing.queues[name].mappings or ())
            number = self.found.messages.get(name, 0)
            remark = f" (with about {number} message{'' if number == 1 else 's'})" if number else ""
            step = (Phase.QUEUES_GO, partial(endpoint.delete_queue, name))
            yield Change("-", f"queue {name}", [step], remark=remark)


def _subscription_attributes(
    wanted: ManifestSubscription, changed: Differences, names: References, *, new: bool
) -> dict[str, str]:
    """Returns the changed attributes by the names that SNS uses. The filter policy "{}" removes the current filter
    policy.
    """
    attributes: dict[str, str] = {}
    if "filter_on" in changed:
        attributes["FilterPolicyScope"] = "MessageBody" if wanted.filter_on == "body" else "MessageAttributes"
    if "filter" in changed:
        attributes["FilterPolicy"] = json.dumps(wanted.filter) if wanted.filter else "" if new else "{}"
    if "raw" in changed:
        attributes["RawMessageDelivery"] = text(wanted.raw)
    if "dead_letters" in changed:
        target = wanted.dead_letters
        attributes["RedrivePolicy"] = json.dumps({"deadLetterTargetArn": names.queue_arn(target)}) if target else ""
    if "replay" in changed:
        attributes["ReplayPolicy"] = json.dumps(wanted.replay) if wanted.replay else ""
    return attributes


def _subscription_values(row: ManifestSubscription) -> Document:
    names = ("filter", "filter_on", "raw", "dead_letters", "replay")
    return {name: getattr(row, name) for name in names}


def _mapping_values(row: ManifestMapping) -> Document:
    return {key: value for key, value in msgspec.structs.asdict(row).items() if key != "function"}


def _include(name: str, value: object) -> Document:
    return {} if value is msgspec.UNSET else {name: value}


def _allow_policy(value: object, arn: Callable[[str], str]) -> str:
    if not value:
        return ""
    if isinstance(value, list):
        sources = [arn(str(name)) for name in value]
        return json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": sources})
    return json.dumps({"redrivePermission": "allowAll" if value == "all" else "denyAll"})


def _keys(value: object) -> set[str]:
    return set(value) if isinstance(value, dict) else set()
