"""Reads event buses and their subscribers, and plans their changes.

The REST API shows them, and AWS's API writes them. A member that the file omits stays unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from penstock.management.buses.types import CONFIGURATION
from penstock_web.local_error import LocalError

from .changes import Change, Differences, Phase, Step, differences
from .destinations import complete_target, shorten_target
from .model import Document, EventBinding, ManifestBus, ManifestSubscriber
from .state import Current, Rest, read_pages

if TYPE_CHECKING:
    from .endpoint import ManifestEndpoint


class CurrentBus(msgspec.Struct):
    """A bus in the REST API's response."""

    name: str
    arn: str
    events: int
    retention_days: int
    description: str | None
    tags: dict[str, str]


class CurrentBinding(msgspec.Struct):
    """A binding of a queue or a bus in the REST API's response."""

    id: int
    pattern: str
    filter_policy: Document | None = None


class CurrentSubscriber(msgspec.Struct):
    """A subscriber in the REST API's response."""

    name: str
    arn: str
    account: str
    type: str
    target: str
    state: str
    configuration: Document
    tags: dict[str, str]


def read_buses(found: Current, rest: Rest, endpoint: ManifestEndpoint) -> None:
    """Adds the buses of the account, with the subscribers of this account, to `found`."""
    for bus in msgspec.convert(list(read_pages(rest, "/buses", "buses")), list[CurrentBus]):
        found.bus_arns[bus.name] = bus.arn
        found.bus_events[bus.name] = bus.events
        subscribers: dict[str, ManifestSubscriber] = {}
        path = f"/buses/{quote(bus.name, safe='')}/subscribers"
        for row in msgspec.convert(list(read_pages(rest, path, "subscribers")), list[CurrentSubscriber]):
            if row.account == endpoint.references.account and row.state != "revoked":
                found.subscriber_arns[bus.name, row.name] = row.arn
                row.target = shorten_target(row.target, found)
                subscribers[row.name] = _read_subscriber(row)
        shown = rest.call("GET", f"/buses/{quote(bus.name, safe='')}").get("bindings", [])
        bindings = read_bindings(shown)
        found.bus_bindings |= {(bus.name, row.pattern): row.id for row in bindings}
        found.manifest.buses[bus.name] = ManifestBus(
            bus.retention_days, bus.description or "", bus.tags, subscribers,
            [EventBinding(row.pattern, row.filter_policy) for row in bindings],
        )  # fmt: skip


def read_bindings(rows: object) -> list[CurrentBinding]:
    """Returns the bindings in the order of their patterns, so that two exports of the same state are equal."""
    return sorted(msgspec.convert(rows, list[CurrentBinding]), key=lambda row: row.pattern)


def _read_subscriber(row: CurrentSubscriber) -> ManifestSubscriber:
    filters = row.configuration.get("FilterConfiguration")
    listed = filters.get("Filters", []) if isinstance(filters, dict) else []
    configuration: Document = {
        name: row.configuration[name] for name in sorted(CONFIGURATION) if name in row.configuration
    }
    invoke = configuration.get("InvokeConfiguration")
    if isinstance(invoke, dict):
        configuration["InvokeConfiguration"] = {name: value for name, value in invoke.items() if name != "TargetArn"}
    return ManifestSubscriber(
        target=row.target,
        type="FIFO" if row.type == "FIFO" else "UNORDERED",
        stopped=row.state == "stopped",
        filters={each["Scope"]: json.loads(each["Pattern"]) for each in listed},
        configuration=configuration,
        tags=row.tags,
    )


def shorten_buses(buses: Mapping[str, ManifestBus], endpoint: ManifestEndpoint) -> None:
    """Makes buses independent of an installation, and removes what is empty."""
    portable = endpoint.references.portable
    for bus in buses.values():
        bus.tags = bus.tags or msgspec.UNSET
        bus.description = bus.description or msgspec.UNSET
        bus.events = bus.events or msgspec.UNSET
        for subscriber in bus.subscribers.values() if isinstance(bus.subscribers, dict) else ():
            subscriber.target = portable(subscriber.target)
            subscriber.configuration = portable(subscriber.configuration)
            subscriber.filters = subscriber.filters or msgspec.UNSET
            subscriber.tags = subscriber.tags or msgspec.UNSET


@dataclass(slots=True)
class BusPlanner:
    """Computes the changes of buses and subscribers."""

    wanted: Mapping[str, ManifestBus]
    found: Current
    endpoint: ManifestEndpoint
    rest: Rest
    prune: bool

    def plan_changes(self) -> Iterator[Change]:
        """Yields the changes, with deletions if `prune` is set. Raises LocalError for a change that AWS's API cannot
        make."""
        existing = self.found.manifest.buses
        for name, bus in self.wanted.items():
            old = existing.get(name)
            yield from self._plan_bus(name, bus, old)
            current = old.subscribers if old is not None and isinstance(old.subscribers, dict) else {}
            wanted = bus.subscribers if isinstance(bus.subscribers, dict) else {}
            for subscriber, row in wanted.items():
                yield from self._plan_subscriber(name, subscriber, row, current.get(subscriber))
            if self.prune and bus.subscribers is not msgspec.UNSET:
                yield from (
                    self._plan_subscriber_deletion(name, gone) for gone in sorted(current.keys() - wanted.keys())
                )
        for name in sorted(existing.keys() - self.wanted.keys()) if self.prune else ():
            subscribers = existing[name].subscribers
            yield from (self._plan_subscriber_deletion(name, gone) for gone in sorted(subscribers or ()))
            events = self.found.bus_events[name]
            remark = f" (with {events} event{'' if events == 1 else 's'})" if events else ""
            step = (Phase.BUSES_GO, partial(self._delete, "bus", name))
            yield Change("-", f"bus {name}", [step], remark=remark)

    # --- buses -------------------------------------------------------------------------------------------------------
    def _plan_bus(self, name: str, wanted: ManifestBus, existing: ManifestBus | None) -> Iterator[Change]:
        changed = differences(_bus_values(wanted), _bus_values(existing) if existing else {})
        what = f"bus {name}"
        act = self._create_bus if existing is None else partial(self._update_bus, changed)
        steps: list[Step] = [(Phase.BUSES, partial(act, name, wanted))]
        if "events" in changed:
            ids = {pattern: id_ for (bus, pattern), id_ in self.found.bus_bindings.items() if bus == name}
            old = existing.events if existing is not None else msgspec.UNSET
            bound = list_binding_steps(self.rest, {"bus": name}, old, wanted.events, ids)
            steps += [(Phase.SUBSCRIBERS, step) for step in bound]
        if existing is None or changed:
            yield Change("+" if existing is None else "~", what, steps, changed)

    def _create_bus(self, name: str, wanted: ManifestBus) -> None:
        members: Document = {"Name": name}
        if isinstance(wanted.retention_days, int):
            members["StorageConfiguration"] = {"RetentionPeriodInDays": wanted.retention_days}
        if isinstance(wanted.description, str):
            members["Description"] = wanted.description
        if isinstance(wanted.tags, dict) and wanted.tags:
            members["Tags"] = wanted.tags
        made = self.endpoint.call_events("create_event_bus", f"bus {name}", **members)
        self.found.bus_arns[name] = str(made["EventBusArn"])

    def _update_bus(self, changed: Differences, name: str, wanted: ManifestBus) -> None:
        arn, what = self.found.bus_arns[name], f"bus {name}"
        members: Document = {}
        if "retention_days" in changed:
            members["StorageConfiguration"] = {"RetentionPeriodInDays": wanted.retention_days}
        if "description" in changed:
            members["Description"] = wanted.description
        if members:
            self.endpoint.call_events("update_event_bus", what, EventBusArn=arn, **members)
        self._tag(arn, what, changed)

    # --- subscribers -------------------------------------------------------------------------------------------------
    def _plan_subscriber(
        self, bus: str, name: str, wanted: ManifestSubscriber, existing: ManifestSubscriber | None
    ) -> Iterator[Change]:
        what = f"subscriber {bus}/{name}"
        values = self._subscriber_values(wanted)
        if existing is None:
            usual = {"type": "UNORDERED", "stopped": False, "filters": {}, "tags": {}}
            step: Step = (Phase.SUBSCRIBERS, partial(self._create_subscriber, bus, name, values))
            yield Change("+", what, [step], differences(values, usual))
            return
        old = self._subscriber_values(existing)
        changed = {key: pair for key, pair in differences(values, old).items() if not _covers(pair[1], pair[0])}
        if fixed := sorted(changed.keys() & {"target", "type"}):
            raise LocalError(
                f"{what}: no API changes its {' and '.join(fixed)}. Delete the subscriber, and apply again"
            )
        if changed:
            yield Change(
                "~", what, [(Phase.SUBSCRIBERS, partial(self._update_subscriber, bus, name, changed))], changed
            )

    def _subscriber_values(self, row: ManifestSubscriber) -> Document:
        filled = self.endpoint.references.filled
        configuration = filled(row.configuration)
        tags = {} if row.tags is msgspec.UNSET else {"tags": row.tags}
        filters = {} if row.filters is msgspec.UNSET else {"filters": row.filters}
        return {
            "target": shorten_target(filled(row.target), self.found),
            "type": row.type,
            "stopped": row.stopped,
            **filters,
            **tags,
            **configuration,
        }

    def _create_subscriber(self, bus: str, name: str, values: Document) -> None:
        blocks = {key: value for key, value in values.items() if key in CONFIGURATION}
        invoke = blocks.pop("InvokeConfiguration", None)
        given = invoke if isinstance(invoke, dict) else {}
        role = f"arn:aws:iam::{self.endpoint.references.account}:role/penstock"
        members: Document = {
            "Name": name,
            "EventBusArn": self.found.bus_arns[bus],
            "InvokeConfiguration": {
                "RoleArn": role,
                **given,
                "TargetArn": complete_target(str(values["target"]), self.found),
            },
            "Type": values["type"],
            "State": "STOPPED" if values["stopped"] else "RUNNING",
            **blocks,
        }
        if values.get("filters"):
            members["FilterConfiguration"] = _build_filters(values["filters"])
        if values.get("tags"):
            members["Tags"] = values["tags"]
        self.endpoint.call_events("create_subscriber", f"subscriber {bus}/{name}", **members)

    def _update_subscriber(self, bus: str, name: str, changed: Differences) -> None:
        arn, what = self.found.subscriber_arns[bus, name], f"subscriber {bus}/{name}"
        members = {key: _merge(old, new) for key, (old, new) in changed.items() if key in CONFIGURATION}
        if "filters" in changed:
            new = changed["filters"][1]
            members["FilterConfiguration"] = _build_filters(new) if new else {}
        if "stopped" in changed:
            members["State"] = "STOPPED" if changed["stopped"][1] else "RUNNING"
        if members:
            self.endpoint.call_events("update_subscriber", what, SubscriberArn=arn, **members)
        self._tag(arn, what, changed)

    def _plan_subscriber_deletion(self, bus: str, name: str) -> Change:
        step = (Phase.SUBSCRIBERS_GO, partial(self._delete, "subscriber", bus, name))
        return Change("-", f"subscriber {bus}/{name}", [step])

    def _delete(self, kind: str, bus: str, name: str = "") -> None:
        if kind == "bus":
            self.endpoint.call_events("delete_event_bus", f"bus {bus}", EventBusArn=self.found.bus_arns[bus])
        else:
            arn = self.found.subscriber_arns[bus, name]
            self.endpoint.call_events("delete_subscriber", f"subscriber {bus}/{name}", SubscriberArn=arn)

    def _tag(self, arn: str, what: str, changed: Differences) -> None:
        old, new = changed.get("tags", (None, None))
        before, after = (tags if isinstance(tags, dict) else {} for tags in (old, new))
        if after:
            self.endpoint.call_events("tag_resource", what, ResourceArn=arn, Tags=after)
        if gone := sorted(before.keys() - after.keys()) if "tags" in changed else []:
            self.endpoint.call_events("untag_resource", what, ResourceArn=arn, TagKeys=gone)


def _bus_values(bus: ManifestBus) -> Document:
    values: Document = {"retention_days": bus.retention_days, "description": bus.description, "tags": bus.tags}
    values["events"] = show_events(bus.events)
    return {name: value for name, value in values.items() if value is not msgspec.UNSET}


# --- bindings of buses and queues ------------------------------------------------------------------------------------
def show_events(events: list[EventBinding] | msgspec.UnsetType) -> object:
    """Returns bindings in the order of their patterns."""
    if events is msgspec.UNSET:
        return events
    return sorted((msgspec.to_builtins(row) for row in events), key=lambda row: row["pattern"])


def list_binding_steps(
    rest: Rest, target: Document, existing: list[EventBinding] | msgspec.UnsetType,
    wanted: list[EventBinding] | msgspec.UnsetType, ids: Mapping[str, int],
) -> Iterator[Callable[[], object]]:  # fmt: skip
    """Yields the requests that change the bindings of a queue or a bus. `target` names it as the REST API does, and
    `ids` has the ids of its bindings by pattern.
    """
    old, new = ({row.pattern: row.filter for row in rows or ()} for rows in (existing, wanted))
    for pattern in sorted(old.keys() | new.keys()):
        path = f"/events/{quote(pattern, safe='')}/subscriptions"
        if pattern in old and (pattern not in new or old[pattern] != new[pattern]):
            yield partial(rest.call, "DELETE", f"{path}/{ids[pattern]}")
        if pattern in new and (pattern not in old or old[pattern] != new[pattern]):
            yield partial(rest.call, "POST", path, {**target, "filter_policy": new[pattern]})


def _covers(wanted: object, current: object) -> bool:
    """Returns whether the current value has all members of the wanted one. A block that the file gives in part does not
    change its other members, which AWS's API would set to their defaults."""
    if isinstance(wanted, dict) and isinstance(current, dict) and wanted:
        return all(name in current and _covers(value, current[name]) for name, value in wanted.items())
    return wanted == current


def _merge(current: object, wanted: object) -> object:
    if isinstance(wanted, dict) and isinstance(current, dict):
        return {**current, **{name: _merge(current.get(name), value) for name, value in wanted.items()}}
    return wanted


def _build_filters(filters: object) -> Document:
    listed = filters.items() if isinstance(filters, dict) else ()
    return {"Filters": [{"Scope": scope, "Pattern": json.dumps(pattern)} for scope, pattern in listed]}
