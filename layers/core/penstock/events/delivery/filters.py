"""Finds the subscribers of a bus whose filters match an event.

The index has one key of each alternative: the key whose values the fewest other alternatives share. A dictionary from
values to alternatives finds the candidates, and the other keys are tested only for candidates. The CPU time of an event
therefore depends little on the number of subscribers that want other values, as in AWS's rule engine
(github.com/aws/event-ruler).

Source of the rules: "Filter events", custom event bus (Amazon EventBridge User Guide).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from penstock.postgres.statement import JsonObject

from .event import Event
from .filter_facts import Fact, Facts, Place, read_facts
from .filter_rules import Alternative, Key, TooManyComparisons, compile_pattern

SCOPES: Final = ("SYSTEM_METADATA", "METADATA", "DATA")
"""The scopes in the order of their cost: DATA needs the decoded payload."""
_SHARED: Final = 1_000_000  # the cost of an alternative that no value of an event can exclude


class UnreadableEvent(Exception):  # noqa: N818 - no error of the client
    """The payload cannot be compared with patterns: it is not JSON, it has too many levels, or a pattern needs too many
    comparisons with it.

    `matched` has the subscribers that match. `unjudged` has the subscribers that match except for their filter of the
    scope DATA, which cannot be compared.
    """

    def __init__(self, matched: list[int], unjudged: list[int]) -> None:
        super().__init__("The payload of the event cannot be compared with the filters of subscribers.")
        self.matched = matched
        self.unjudged = unjudged


class _UnreadableData(Exception):  # noqa: N818 - no error of the client
    pass


class _Subscriber:
    """A subscriber with filters. `patterns` has the alternatives of each scope."""

    __slots__ = ("id", "patterns", "position")

    def __init__(self, position: int, subscriber_id: int, patterns: dict[str, list[Alternative]]) -> None:
        self.position = position
        self.id = subscriber_id
        self.patterns = patterns


_Candidate: TypeAlias = tuple[_Subscriber, Alternative]


class _ScopeIndex:
    """The alternatives of the subscribers whose candidates one scope finds."""

    def __init__(self) -> None:
        self.by_value: dict[Place, dict[Fact, list[_Candidate]]] = {}
        self.by_place: dict[Place, list[_Candidate]] = {}
        self.always: list[_Candidate] = []

    def add(self, candidate: _Candidate, key: Key | None) -> None:
        if key is None:
            self.always.append(candidate)
        elif not key.has_only_values:
            self.by_place.setdefault(key.place, []).append(candidate)
        else:
            values = self.by_value.setdefault(key.place, {})
            for value in key.equal:
                values.setdefault(value, []).append(candidate)

    def find_candidates(self, facts: Facts) -> Iterator[_Candidate]:
        """Yields each candidate at least once."""
        yield from self.always
        for place, known in facts.values.items():
            yield from self.by_place.get(place, ())
            values = self.by_value.get(place)
            if values is not None:
                for value in known if len(known) == 1 else set(known):
                    yield from values.get(value, ())


class FilterIndex:
    """The filters of a bus's subscribers.

    A configuration is the FilterConfiguration of DescribeSubscriber. A subscriber without a configuration or without
    filters receives every event. The index is for one version of the subscribers: build another after a change. Raises
    InvalidParameter or InvalidInputException for a pattern that CreateSubscriber would refuse.
    """

    def __init__(self, subscribers: Iterable[tuple[int, JsonObject | None]]) -> None:
        self._places = {scope: Place() for scope in SCOPES}
        self._unfiltered: list[tuple[int, int]] = []
        self._filtered: list[_Subscriber] = []
        for position, (subscriber_id, configuration) in enumerate(subscribers):
            filters = (configuration or {}).get("Filters")
            if filters:
                patterns = {
                    each["Scope"]: compile_pattern(each["Pattern"], each["Scope"], self._places[each["Scope"]])
                    for each in filters
                }
                self._filtered.append(_Subscriber(position, subscriber_id, patterns))
            else:
                self._unfiltered.append((position, subscriber_id))
        self._indexes = _build_indexes(self._filtered)

    def find(self, event: Event, delivery_type: str = "LIVE") -> list[int]:
        """Returns the ids of the subscribers that receive the event, in the order of the subscribers. `delivery_type`
        is the value of aws:DeliveryType. Raises UnreadableEvent if a filter needs a payload that is not readable."""
        if not self._filtered:
            return [subscriber_id for _, subscriber_id in self._unfiltered]
        reader = _EventReader(event, delivery_type, self._places)
        try:
            found, unjudged = self._find_matching(reader)
        except (_UnreadableData, RecursionError):
            found, unjudged = self._find_without_data(reader)
        if unjudged:
            raise UnreadableEvent(self._list_ids(found), unjudged)
        return self._list_ids(found)

    def _find_matching(self, reader: "_EventReader") -> tuple[dict[int, int], list[int]]:
        """Returns the matching subscribers that have filters, as ids by position, and the ids of those that need too
        many comparisons."""
        found: dict[int, int] = {}
        unjudged: dict[int, int] = {}
        for scope, index in self._indexes.items():
            facts = reader.read(scope)
            if facts is None:
                continue
            for subscriber, alternative in index.find_candidates(facts):
                if subscriber.position in found:
                    continue
                try:
                    if alternative.passes(facts) and reader.passes_all_but(scope, subscriber):
                        found[subscriber.position] = subscriber.id
                except TooManyComparisons:
                    if reader.passes_all_but("DATA", subscriber):
                        unjudged[subscriber.position] = subscriber.id
        return found, [number for position, number in unjudged.items() if position not in found]

    def _find_without_data(self, reader: "_EventReader") -> tuple[dict[int, int], list[int]]:
        """Returns the subscribers that match without a filter for DATA, and the ids of those that have one."""
        found: dict[int, int] = {}
        unjudged = []
        for subscriber in self._filtered:
            if reader.passes_all_but("DATA", subscriber):
                if "DATA" in subscriber.patterns:
                    unjudged.append(subscriber.id)
                else:
                    found[subscriber.position] = subscriber.id
        return found, unjudged

    def _list_ids(self, found: dict[int, int]) -> list[int]:
        return [subscriber_id for _, subscriber_id in sorted([*self._unfiltered, *found.items()])]


class _EventReader:
    """Reads each scope of an event once, when a filter needs it."""

    __slots__ = ("_delivery_type", "_event", "_places", "_read")

    def __init__(self, event: Event, delivery_type: str, places: dict[str, Place]) -> None:
        self._event = event
        self._delivery_type = delivery_type
        self._places = places
        self._read: dict[str, Facts | None] = {}

    def read(self, scope: str) -> Facts | None:
        """Returns the values of a scope. Returns None for the data of a binary event, which no filter matches."""
        if scope not in self._read:
            self._read[scope] = self._read_scope(scope)
        return self._read[scope]

    def passes_all_but(self, scope: str, subscriber: _Subscriber) -> bool:
        """Returns whether the subscriber's filters of the other scopes match."""
        return all(self._passes(other, subscriber) for other in subscriber.patterns if other != scope)

    def _passes(self, scope: str, subscriber: _Subscriber) -> bool:
        facts = self.read(scope)
        return facts is not None and any(alternative.passes(facts) for alternative in subscriber.patterns[scope])

    def _read_scope(self, scope: str) -> Facts | None:
        event, places = self._event, self._places[scope]
        if scope == "SYSTEM_METADATA":
            return read_facts(event.build_system_metadata(self._delivery_type), places, converts=True)
        if scope == "METADATA":
            return read_facts(event.metadata or {}, places, converts=True)
        if event.is_binary:
            return None
        try:
            document = event.document
        except (ValueError, RecursionError):
            raise _UnreadableData from None
        # Only an escape can produce a character that patterns replace.
        return read_facts(document, places, converts=b"\\u00" in event.data)


# --- choice of the keys ----------------------------------------------------------------------------------------------
def _build_indexes(subscribers: list[_Subscriber]) -> dict[str, _ScopeIndex]:
    """Returns the indexes of the scopes. Each subscriber is in one of them."""
    uses = Counter(
        (key.place, value)
        for subscriber in subscribers
        for alternatives in subscriber.patterns.values()
        for alternative in alternatives
        for key in alternative.keys
        for value in key.equal
    )
    indexes: dict[str, _ScopeIndex] = {}
    for subscriber in subscribers:
        chosen: list[tuple[int, int, str, list[Key | None]]] = []
        for scope, alternatives in subscriber.patterns.items():
            keys = [_choose_key(alternative, uses) for alternative in alternatives]
            chosen.append((sum(cost for cost, _ in keys), SCOPES.index(scope), scope, [key for _, key in keys]))
        _, _, scope, chosen_keys = min(chosen, key=lambda each: each[:2])
        index = indexes.setdefault(scope, _ScopeIndex())
        for alternative, key in zip(subscriber.patterns[scope], chosen_keys, strict=True):
            index.add((subscriber, alternative), key)
    return {scope: indexes[scope] for scope in SCOPES if scope in indexes}


def _choose_key(alternative: Alternative, uses: Counter[tuple[Place, Fact]]) -> tuple[int, Key | None]:
    """Returns the key whose values the fewest alternatives have, or another key that must have a value, or None. Also
    returns the cost, which grows with the number of candidates that the key finds."""
    found: list[tuple[int, Key]] = [
        (sum(uses[key.place, value] for value in key.equal), key) for key in alternative.keys if key.has_only_values
    ]
    if found:
        return min(found, key=lambda each: each[0])
    required = next((key for key in alternative.keys if not key.may_be_missing), None)
    return (_SHARED if required is not None else 2 * _SHARED), required
