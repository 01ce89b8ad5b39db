"""Publishes events by PutEvents and PutRawEvents in both deployments.

Sources: "Publishing events" and "Deduplication" of the custom event bus (Amazon EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html); botocore's model `eventbridgev2`. The page
docs/reference/event_bus_differences.md lists the choices that no source decides. `tests/unit/events/test_publishing.py`
tests each
reason for which an entry fails.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from penstock.aws.codec import cbor
from tests.support.conformance.events import Events
from tests.support.conformance.requests import Raw
from tests.support.conformance.sqs import read_cbor

MIB = 1_048_576
MISSING = ("ResourceNotFoundException", 404)
INVALID = ("InvalidInputException", 400)
OTHER = "111122223333"
BY_CONTENT = {"DeduplicationConfiguration": {"DeduplicationType": "CONTENT_BASED"}}

Members = dict[str, Any]
container = pytest.mark.parametrize("events", ["container"], indirect=True)


def event(detail: str = "{}", **more: Any) -> Members:
    return {"Source": "shop", "DetailType": "order", "Detail": detail, **more}


def raw_event(data: bytes = b"{}", kind: str = "application/json", **system: str) -> Members:
    return {"Data": data, "SystemMetadata": {"ContentType": kind, **system}}


def in_group(group: str | None, deduplication_id: str | None, **more: Any) -> Members:
    given = {"EventGroupId": group, "DeduplicationId": deduplication_id}
    return event(**more, SystemMetadata={name: value for name, value in given.items() if value is not None})


def put(events: Events, bus: str, *entries: Members, **more: Any) -> list[Members]:
    """Publishes entries that are all valid."""
    answer = events.client.put_events(EventBusArn=bus, Entries=list(entries), **more)
    assert answer["FailedEntryCount"] == 0
    return list(answer["Entries"])


def put_raw(events: Events, bus: str, *entries: Members, **more: Any) -> list[Members]:
    answer = events.client.put_raw_events(EventBusArn=bus, Entries=list(entries), **more)
    assert answer["FailedEntryCount"] == 0
    return list(answer["Entries"])


def codes(entries: list[Members]) -> list[str]:
    return [entry["SuccessCode"] for entry in entries]


# --- results ---------------------------------------------------------------------------------------------------------
def test_three_of_a_hundred_entries_fail(events: Events) -> None:
    wrong = {3, 40, 99}
    entries = [event("[]" if n in wrong else json.dumps({"n": n})) for n in range(100)]
    answer = events.client.put_events(EventBusArn=events.bus(), Entries=entries)
    assert answer["FailedEntryCount"] == 3
    assert {n for n, entry in enumerate(answer["Entries"]) if "ErrorCode" in entry} == wrong
    assert answer["Entries"][3] == {"ErrorCode": "VALIDATION_ERROR", "ErrorMessage": "Detail must be a JSON object."}
    good = [entry for entry in answer["Entries"] if "ErrorCode" not in entry]
    assert len({UUID(entry["EventId"]) for entry in good}) == len({entry["SequenceNumber"] for entry in good}) == 97
    assert set(codes(good)) == {"PUBLISHED"}


def test_sequence_numbers_of_a_group_rise(events: Events) -> None:
    bus = events.bus()
    entries = [in_group("g", None) for _ in range(3)]
    numbers = [entry["SequenceNumber"] for _ in range(2) for entry in put(events, bus, *entries)]
    assert numbers == sorted(set(numbers))
    assert {len(number) for number in numbers} == {20}


def test_bytes_and_json_are_published(events: Events) -> None:
    entries = [
        raw_event(b'{"n":1e999,"n":12345678901234567890.10}'),
        raw_event(b'"\\ud800\\u0000"'),
        raw_event(bytes(range(256)), "application/octet-stream"),
        raw_event(b"", "application/octet-stream"),
        {**raw_event(), "Metadata": {"Team": "ü", "\u2028": " "}},
    ]
    assert set(codes(put_raw(events, events.bus(), *entries))) == {"PUBLISHED"}


def test_the_members_of_stored_events(events: Events) -> None:
    """Deliveries derive a group or a deduplication id that the publisher did not give."""
    bus = events.bus()
    ids = {"EventGroupId": "g", "DeduplicationId": "d"}
    first, plain = put(events, bus, event('{"a":1, "a":2}', SystemMetadata=ids), event())
    data = b'{"n":1e999}'
    (raw,) = put_raw(events, bus, {**raw_event(data, EventGroupId="h"), "Metadata": {"Team": "a"}})
    found = read_stored(events, bus)
    assert found[first["EventId"]][:-1] == (0, "shop", "order", "g", "d", None)
    assert found[plain["EventId"]][:-1] == (0, "shop", "order", None, None, None)
    assert found[raw["EventId"]] == (1, None, None, "h", None, {"Team": "a"}, data)
    assert found[first["EventId"]][-1].endswith(b'"resources":[],"detail":{"a":1, "a":2}}')
    assert json.loads(found[first["EventId"]][-1])["id"] == first["EventId"]


def read_stored(events: Events, bus: str) -> dict[str, tuple[Any, ...]]:
    """Returns the columns of a bus's events by id."""
    rows = events.sqs.clock.connection.execute(
        "select event_id::text, content_type, source, detail_type, group_id, deduplication_id, metadata, data"
        " from queue.event join queue.event_bus using (bus_id) where arn = %s",
        (bus,),
    )
    return {event_id: tuple(columns) for event_id, *columns in rows}


@container
def test_a_bus_that_does_not_exist(events: Events) -> None:
    bus = events.bus()
    events.client.delete_event_bus(EventBusArn=bus)
    for entry in (event(), event("[]")):
        assert events.refused("put_events", EventBusArn=bus, Entries=[entry]) == MISSING
    assert events.refused("put_raw_events", EventBusArn=bus, Entries=[raw_event()]) == MISSING
    other = events.of(events.sqs.caller(region="eu-west-1"))
    assert other.refused("put_events", EventBusArn=events.bus(), Entries=[event()]) == MISSING


# --- limits ----------------------------------------------------------------------------------------------------------
def test_a_mib_is_published_and_a_byte_more_is_not(events: Events) -> None:
    bus = events.bus()
    detail = json.dumps({"a": "x" * (MIB - len("shoporder") - len('{"a": ""}'))})
    put(events, bus, event(detail))
    refusal = events.refusal("put_events", EventBusArn=bus, Entries=[event(detail), event("")])
    assert refusal[:2] == INVALID
    assert refusal.message == f"The entries have {MIB + 9} bytes together. A request can have at most {MIB}."
    halves = [raw_event(b"\0" * (MIB // 2), "application/octet-stream") for _ in range(2)]
    put_raw(events, bus, *halves)
    halves[1]["Metadata"] = {"a": "b"}
    assert events.refused("put_raw_events", EventBusArn=bus, Entries=halves) == INVALID


@container
@pytest.mark.parametrize("number", [0, 101])
def test_a_call_has_one_to_a_hundred_entries(events: Events, number: int) -> None:
    bus = events.bus()
    assert events.refused("put_events", EventBusArn=bus, Entries=[event()] * number) == INVALID
    assert events.refused("put_raw_events", EventBusArn=bus, Entries=[raw_event()] * number) == INVALID


@container
@pytest.mark.parametrize("raw", ["container"], indirect=True)
def test_texts_that_are_no_unicode(events: Events, raw: Raw) -> None:
    """A text in CBOR is UTF-8 ("Concise Binary Object Representation", RFC 8949, 3.1), so it has no lone surrogates."""
    bus = events.bus()
    members = {"EventBusArn": bus, "Entries": [event("{}", Source="sho?")]}
    response = raw.cbor("PutEvents", members, "AWSEventsV2")
    assert response.status_code == 200
    for wrong in (b"sho\xff", b"s\xed\xa0\x80"):
        body = cbor.encode(members).replace(b"sho?", wrong)
        response = raw.cbor("PutEvents", body, "AWSEventsV2")
        refusal: Any = read_cbor(response.content)
        assert response.status_code == 400
        assert refusal["__type"].endswith("#SerializationException")


# --- deduplication ---------------------------------------------------------------------------------------------------
def test_a_duplicate_has_the_id_of_the_first_event(events: Events) -> None:
    bus = events.bus()
    first, again = put(events, bus, in_group("g", "d"), in_group("g", "d", detail='{"other":1}'))
    later = put(events, bus, in_group("g", "d"))[0]
    assert codes([first, again, later]) == ["PUBLISHED", "DEDUPLICATED", "DEDUPLICATED"]
    assert {entry["EventId"] for entry in (first, again, later)} == {first["EventId"]}
    assert {entry["SequenceNumber"] for entry in (first, again, later)} == {first["SequenceNumber"]}


def test_the_scope_of_an_id_is_bus_account_and_group(events: Events) -> None:
    """Entries without a group share a scope."""
    bus, other_bus = events.bus(), events.bus()
    found = put(
        events,
        bus,
        in_group("g", "d"),
        in_group("h", "d"),
        in_group(None, "d"),
        in_group(None, "d"),
        in_group("g", "e"),
    )
    assert codes(found) == ["PUBLISHED", "PUBLISHED", "PUBLISHED", "DEDUPLICATED", "PUBLISHED"]
    assert codes(put(events, other_bus, in_group("g", "d"))) == ["PUBLISHED"]
    partner = events.of(events.sqs.caller(account=OTHER))
    assert codes(put(partner, bus, in_group("g", "d"))) == ["PUBLISHED"]


def test_equal_contents_are_duplicates(events: Events) -> None:
    bus = events.bus()
    entries = [event('{"a":1}'), event('{"a":1}', Time=1_785_546_061), event('{"a":2}'), in_group(None, "d")]
    found = put(events, bus, *entries, entries[3], **BY_CONTENT)
    assert codes(found) == ["PUBLISHED", "DEDUPLICATED", "PUBLISHED", "PUBLISHED", "DEDUPLICATED"]
    assert codes(put(events, bus, entries[0])) == ["PUBLISHED"]
    raw_entries = [raw_event(b"1"), raw_event(b"1"), raw_event(b"1", "application/octet-stream")]
    assert codes(put_raw(events, bus, *raw_entries, **BY_CONTENT)) == ["PUBLISHED", "DEDUPLICATED", "PUBLISHED"]
