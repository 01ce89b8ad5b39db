"""Publishes events without a database, and compares the results and the events to store with section "Publish" of
docs/reference/event_bus.md. botocore's model `eventbridgev2` gives the limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, cast
from uuid import UUID

import pytest

from penstock.aws.codec import cbor, schema
from penstock.effects import Call
from penstock.environment import Environment
from penstock.events.publishing import MAX_BYTES
from penstock.events.types import PutEventsResult, PutEventsResultEntry
from penstock.gateway import RejectedRequest, decode
from penstock.http import HttpRequest
from penstock.postgres.statements.event_buses import PUT_BUS_EVENTS, BusEvent, BusRow, PutBusEventsRow
from penstock.settings import Settings

Members = dict[str, Any]

ACCOUNT = "000000000000"
BUS = f"arn:aws:events:us-east-1:{ACCOUNT}:event-busv2/b/{'a' * 25}"
ENVIRONMENT = Environment(Settings.read({}), None)  # type: ignore[arg-type] # no request here has a receipt
HEADERS = {b"host": b"localhost", b"smithy-protocol": b"rpc-v2-cbor", b"content-type": b"application/cbor"}
JSON, BINARY, ENVELOPE = "application/json", "application/octet-stream", "application/eventbridge+json"
STORED = {
    "account_id": ACCOUNT, "name": "b", "arn": BUS, "retention_days": 1, "window_start": "2026-01-01T00:00:00Z",
    "now": "2026-01-01T00:00:00Z", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
}  # fmt: skip


class Published(NamedTuple):
    result: PutEventsResult
    events: list[BusEvent]

    @property
    def entries(self) -> list[PutEventsResultEntry]:
        assert self.result.entries is not None
        return self.result.entries

    @property
    def texts(self) -> list[str | None]:
        return [entry.error_message for entry in self.entries]


def read(action: str, members: Members) -> Any:
    path = f"/service/AWSEventsV2/operation/{action}"
    return decode(HttpRequest("POST", path, b"", HEADERS, cbor.encode(members)), ENVIRONMENT)


def answer(effect: Call[Any]) -> list[Any]:
    """Returns the rows of the database in which BUS is the only bus, and no event is a duplicate."""
    if effect.statement is not PUT_BUS_EVENTS:
        return [BusRow(STORED)] if effect.arguments == (BUS,) else []
    arn, account, *columns, _ = cast("tuple[Any, ...]", effect.arguments)
    assert account == ACCOUNT
    ids = cast("list[bytes]", columns[0])
    if arn != BUS:
        return [PutBusEventsRow(None, None, "ResourceNotFound")]
    return [PutBusEventsRow(list(range(1, len(ids) + 1)), None, None)]


def publish(action: str, *entries: Members, **more: Any) -> Published:
    operation = read(action, {"EventBusArn": BUS, "Entries": list(entries), **more}).operation()
    stored: list[BusEvent] = []
    try:
        effect = next(operation)
        while True:
            if effect.statement is PUT_BUS_EVENTS:
                stored = [BusEvent(*columns) for columns in zip(*effect.arguments[2:-1], strict=True)]
            effect = operation.send(answer(effect))
    except StopIteration as end:
        return Published(end.value, stored)


def event(detail: str | None = '{"a":1}', **more: Any) -> Members:
    return {"Source": "shop", "DetailType": "order", "Detail": detail, **more}


def raw(data: bytes = b"{}", content_type: str = JSON, metadata: Any = None, **system: str) -> Members:
    return {"Data": data, "Metadata": metadata, "SystemMetadata": {"ContentType": content_type, **system}}


def refuse(action: str, members: Members) -> tuple[str, str]:
    """Returns the name and the text of the error that refuses a whole call."""
    with pytest.raises(RejectedRequest) as refused:
        read(action, members)
    document = cast("dict[str, str]", cbor.decode(refused.value.response().body))
    return document["__type"].rpartition("#")[2], document["Message"]


# --- what is stored --------------------------------------------------------------------------------------------------
def test_the_envelope() -> None:
    """The `detail` is the text of Detail: numbers, duplicate keys and white space stay."""
    detail = ' {"n": 12345678901234567890.10, "big":1e999, "a":1, "a":2, "s":"\\ud800\\u0000ü"}\n'
    given = event(detail, Time=schema.Timestamp(1_785_546_061.9), Resources=['r"1', ""])
    published = publish("PutEvents", given)
    (stored,) = published.events
    (entry,) = published.entries
    text = stored.data.decode()
    head, found, _ = text.partition(f',"detail":{detail}}}')
    assert found
    assert json.loads(head + "}") == {
        "version": "0", "id": entry.event_id, "source": "shop", "detail-type": "order", "account": ACCOUNT,
        "region": "us-east-1", "time": "2026-08-01T01:01:01Z", "resources": ['r"1', ""],
    }  # fmt: skip
    assert (stored.content_type, stored.source, stored.detail_type) == (0, "shop", "order")
    assert (stored.event_id, stored.metadata) == (UUID(entry.event_id).bytes, None)


def test_an_envelope_without_optional_members() -> None:
    (stored,) = publish("PutEvents", event(None)).events
    envelope = json.loads(stored.data)
    assert (envelope["detail"], envelope["resources"]) == ({}, [])
    assert (stored.event_group, stored.deduplication_id, stored.content_hash) == (None, None, None)


def test_raw_bytes_stay() -> None:
    data = b' {"n":1e999,"a":1,"a":"\\ud800"}\n'
    first, second = publish(
        "PutRawEvents",
        raw(data, metadata={"Key": "ü"}, EventGroupId="g", DeduplicationId="{% d %}"),
        raw(b"\xff\0", BINARY),
    ).events
    assert (first.data, first.content_type, json.loads(first.metadata or b"")) == (data, 1, {"Key": "ü"})
    assert (first.event_group, first.deduplication_id, first.source) == ("g", "{% d %}", None)
    assert (second.data, second.content_type, second.metadata) == (b"\xff\0", 2, None)


def test_the_results_are_in_the_order_of_the_entries() -> None:
    wrong = (7, 50, 99)
    published = publish("PutEvents", *(event("[]" if n in wrong else f'{{"n":{n}}}') for n in range(100)))
    assert published.result.failed_entry_count == 3
    assert [n for n, entry in enumerate(published.entries) if entry.error_code] == list(wrong)
    good = [entry for entry in published.entries if entry.error_code is None]
    assert [UUID(entry.event_id).bytes for entry in good] == [stored.event_id for stored in published.events]
    assert [entry.sequence_number for entry in good] == [str(10**19 + n) for n in range(1, 98)]
    assert {entry.success_code for entry in good} == {"PUBLISHED"}


def test_a_bus_is_looked_up_even_if_every_entry_fails() -> None:
    published = publish("PutEvents", event("[]"))
    assert (published.result.failed_entry_count, published.events) == (1, [])
    for entry in (event(), event("[]")):
        for arn in (BUS[:-1] + "b", BUS.replace("us-east-1", "eu-west-1")):
            with pytest.raises(Exception, match="does not exist"):
                publish("PutEvents", entry, EventBusArn=arn)


# --- entries that fail -----------------------------------------------------------------------------------------------
NOT_AN_OBJECT = "Detail must be a JSON object."


@pytest.mark.parametrize(
    "detail",
    [
        "", " ", "[]", "1", "null", '"{}"', "{", "{}{}", '{"a":NaN}', '{"a":01}', "{'a':1}", '{"a":"\n"}', "\ufeff{}",
        "\u00a0{}", '{"a":"\\ud8"}', '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
    ids=lambda text: repr(text)[:20],
)  # fmt: skip
def test_a_detail_that_is_no_object(detail: str) -> None:
    (entry,) = publish("PutEvents", event(detail)).entries
    assert (entry.error_code, entry.error_message) == ("VALIDATION_ERROR", NOT_AN_OBJECT)
    assert (entry.event_id, entry.sequence_number, entry.success_code) == (None, None, None)


def test_sources_of_aws_are_reserved() -> None:
    published = publish("PutEvents", *(event(Source=name) for name in ("aws.s3", "aws.", "aws", "AWS.s3", "my.aws.")))
    reserved = "Source must not begin with aws., which is reserved for AWS."
    assert published.texts == [reserved, reserved, None, None, None]


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (raw(b""), "Data of application/json must be valid JSON."),
        (raw(b"{"), "Data of application/json must be valid JSON."),
        (raw(b"\0"), "Data of application/json must be valid JSON."),
        (raw(b"[" * 100_000 + b"]" * 100_000), "Data of application/json must be valid JSON."),
        (raw(b'"\xff"'), "Data of application/json must be UTF-8."),
        (raw(b'"\xed\xa0\x80"'), "Data of application/json must be UTF-8."),
        (raw(metadata={"a": "1", "A": "2"}), "Two keys of Metadata differ only in case."),
        (raw(metadata={"ä": "1", "Ä": "2"}), "Two keys of Metadata differ only in case."),
        (raw(b"", "application/avro"), "application/avro. Send application/octet-stream instead."),
        (raw(b"", "application/protobuf"), "application/protobuf. Send application/octet-stream instead."),
        (
            raw(b"<a/>", "application/xml"),
            (
                "Unsupported contentType: application/xml. Supported types: application/json, application/avro, "
                "application/protobuf, application/octet-stream."
            ),
        ),
        (raw(b"{}", "application/json; charset=utf-8"), "Unsupported contentType: application/json; charset=utf-8."),
        (raw(b"{}", ENVELOPE), f"Unsupported contentType: {ENVELOPE}."),
    ],
)
def test_a_raw_entry_that_fails(entry: Members, text: str) -> None:
    """The text about unsupported types is AWS's."""
    published = publish("PutRawEvents", raw(b"1"), entry, raw(b"2"))
    (failed,) = (each for each in published.entries if each.error_code)
    assert failed is published.entries[1]
    assert failed.error_code == "VALIDATION_ERROR"
    assert text in str(failed.error_message)
    assert [stored.data for stored in published.events] == [b"1", b"2"]


@pytest.mark.parametrize("data", [b"1", b"null", b'"a"', b" [] ", b'"\\u0000"', b"9" * 5_000])
def test_any_json_is_raw_json(data: bytes) -> None:
    assert [stored.data for stored in publish("PutRawEvents", raw(data)).events] == [data]


# --- calls that fail -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("action", "entries", "text"),
    [
        ("PutEvents", [], "'entries' failed to satisfy constraint: Member must have length greater than or equal to 1"),
        ("PutEvents", [event()] * 101, "Member must have length less than or equal to 100"),
        ("PutRawEvents", [raw()] * 101, "Member must have length less than or equal to 100"),
        ("PutEvents", [event(), event(Source="")], "'entries.2.member.source'"),
        ("PutEvents", [event(Source="a" * 257)], "'entries.1.member.source'"),
        ("PutEvents", [event(DetailType="a" * 129)], "'entries.1.member.detailType'"),
        ("PutEvents", [event("{\0}")], "U+0000"),
        ("PutEvents", [event(Source="a\0")], "U+0000"),
        ("PutEvents", [event(Resources=[""] * 101)], "'entries.1.member.resources'"),
        ("PutEvents", [event(Resources=["a" * 2_049])], "'entries.1.member.resources.1.member'"),
        ("PutEvents", [event(Time=schema.Timestamp(-1.0))], "'entries.1.member.time'"),
        ("PutEvents", [event(SystemMetadata={"EventGroupId": ""})], "systemMetadata.eventGroupId"),
        ("PutEvents", [event(SystemMetadata={"EventGroupId": "g" * 129})], "systemMetadata.eventGroupId"),
        ("PutEvents", [event(SystemMetadata={"DeduplicationId": " \u3000"})], "systemMetadata.deduplicationId"),
        ("PutRawEvents", [{"Data": b"{}"}], "'entries.1.member.systemMetadata'"),
        ("PutRawEvents", [{"SystemMetadata": {"ContentType": JSON}}], "'entries.1.member.data'"),
        ("PutRawEvents", [raw(content_type="text/plain")], "systemMetadata.contentType"),
        ("PutRawEvents", [raw(metadata={"a/b": "1"})], "Map keys must satisfy constraint"),
        ("PutRawEvents", [raw(metadata={"": "1"})], "Map keys must satisfy constraint"),
        ("PutRawEvents", [raw(metadata={"a" * 129: "1"})], "Map keys must satisfy constraint"),
        ("PutRawEvents", [raw(metadata={"a": ""})], "'entries.1.member.metadata.a'"),
        ("PutRawEvents", [raw(metadata={"a": "\0"})], "U+0000"),
        ("PutRawEvents", [raw(metadata={str(n): "1" for n in range(101)})], "'entries.1.member.metadata'"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_violated_limit_fails_the_whole_call(action: str, entries: list[Members], text: str) -> None:
    kind, message = refuse(action, {"EventBusArn": BUS, "Entries": entries})
    assert kind == "InvalidInputException"
    assert text in message


@pytest.mark.parametrize("entry", [{"Data": "e30="}, {**raw(), "Metadata": {"a": 1}}, []])
def test_a_value_of_a_wrong_type_fails_the_whole_call(entry: Any) -> None:
    assert refuse("PutRawEvents", {"EventBusArn": BUS, "Entries": [entry]})[0] == "SerializationException"


def test_other_configurations() -> None:
    with_registry = {"SchemaRegistryConfiguration": {"RegistryUri": "https://registry.example.com"}}
    assert publish("PutRawEvents", raw(), **with_registry).result.failed_entry_count == 0
    others: list[Members] = [
        {"SchemaRegistryConfiguration": {}}, {"DeduplicationConfiguration": {"DeduplicationType": "ID"}},
    ]  # fmt: skip
    for more in others:
        kind, _ = refuse("PutRawEvents", {"EventBusArn": BUS, "Entries": [raw()], **more})
        assert kind == "InvalidInputException"


def long_event(size: int) -> Members:
    """Returns an entry of PutEvents whose members have `size` bytes, of which Time has 14."""
    given = event("", Time=schema.Timestamp(0.0), Resources=["ü"])
    rest = size - len("shoporder") - 14 - len("ü".encode())
    return {**given, "Detail": json.dumps({"a": "x" * (rest - len('{"a": ""}'))})}


def long_raw(size: int) -> Members:
    return raw(b"x" * (size - len("key") - len("ü".encode())), BINARY, {"key": "ü"})


@pytest.mark.parametrize(("action", "build"), [("PutEvents", long_event), ("PutRawEvents", long_raw)])
def test_all_entries_have_one_mib_together(action: str, build: Callable[[int], Members]) -> None:
    half = MAX_BYTES // 2
    assert publish(action, build(MAX_BYTES)).result.failed_entry_count == 0
    assert publish(action, build(half), build(half)).result.failed_entry_count == 0
    with pytest.raises(Exception, match="1048577 bytes together"):
        publish(action, build(half), build(half + 1))


def test_the_most_metadata_of_a_request() -> None:
    metadata = {str(n): "v" for n in range(100)}
    assert len(publish("PutRawEvents", *[raw(metadata=metadata)] * 100).events) == 100


# --- deduplication ---------------------------------------------------------------------------------------------------
CONTENT = {"DeduplicationConfiguration": {"DeduplicationType": "CONTENT_BASED"}}


def hashes(action: str, *entries: Members) -> list[bytes | None]:
    return [stored.content_hash for stored in publish(action, *entries, **CONTENT).events]


def test_the_content_of_an_event_is_hashed_without_its_time() -> None:
    first, *same = hashes("PutEvents", event(), event(Time=schema.Timestamp(1.0)), event(Resources=[]))
    assert first is not None
    assert len(first) == 32
    assert same == [first, first]
    others = [
        event('{"a": 1}'), event(Source="shop2"), event(DetailType="orders"), event(Resources=["a"]),
        event(Resources=["a", "b"]), event(Resources=["ab"]), event(Source="shopo", DetailType="rder"),
    ]  # fmt: skip
    assert len({first, *hashes("PutEvents", *others)}) == len(others) + 1


def test_the_content_of_a_raw_event_is_its_type_data_and_metadata() -> None:
    metadata = {"a": "1", "b": "2"}
    first, same = hashes("PutRawEvents", raw(metadata=metadata), raw(metadata=dict(sorted(metadata.items())[::-1])))
    assert first == same
    others = [
        raw(), raw(content_type=BINARY), raw(b"{} "), raw(metadata={"a": "1"}), raw(metadata={"a": "1b2"}),
        raw(b'"a1"', metadata=None), raw(b'"a"', metadata={"1": "1"}),
    ]  # fmt: skip
    assert len({first, *hashes("PutRawEvents", *others)}) == len(others) + 1
    assert hashes("PutRawEvents", raw(metadata={}))[0] == hashes("PutRawEvents", raw())[0]


def test_an_id_wins_over_the_content() -> None:
    assert hashes("PutEvents", event(SystemMetadata={"DeduplicationId": "d"})) == [None]
    assert hashes("PutRawEvents", raw(DeduplicationId="d")) == [None]


def test_a_duplicate_has_the_id_of_the_first() -> None:
    first = UUID(int=7)
    rows = [PutBusEventsRow([3], [first], None)]
    operation = read("PutRawEvents", {"EventBusArn": BUS, "Entries": [raw()]}).operation()
    next(operation)
    with pytest.raises(StopIteration) as end:
        operation.send(rows)
    (entry,) = end.value.value.entries
    found = (entry.event_id, entry.sequence_number, entry.success_code)
    assert found == (str(first), "10000000000000000003", "DEDUPLICATED")
    assert end.value.value.failed_entry_count == 0
