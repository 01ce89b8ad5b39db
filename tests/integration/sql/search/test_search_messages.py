"""Tests that a search reads messages in every state, finds the messages that match the filter, and reports its
progress.

Also tests dead-letter groups: similar messages form one group, and the groups contain exactly the messages that the
call read.
"""

import base64
import json
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from penstock.management.messages.conversion import convert_to_json
from penstock.postgres.statements.stored_messages import GROUP_FAILURES, SEARCH_MESSAGES, FailureRow, FoundRow
from tests.support.sql.calls import (
    Connection,
    Counts,
    Entry,
    call,
    change,
    counts,
    create,
    queue_id,
    receive,
    send,
    send_entries,
    value,
)
from tests.support.sql.move_tasks import BOTH, dead_queue, poison


class Page(NamedTuple):
    """Holds the bodies of the messages that a search found, and the last row of the search."""

    bodies: list[str]
    end: FoundRow


def search(
    db: Connection, arn: str, after: str | None = None, limit: int = 100, scan: int = 10_000, **filters: Any
) -> Page:
    *rows, end = call(db, SEARCH_MESSAGES, arn, json.dumps(filters), after, limit, scan, None)
    return Page([row.body for row in rows], end)


def in_every_state(db: Connection, suffix: str) -> str:
    """Creates a queue with one message in each state: in flight, made visible again, received before, delayed,
    and new."""
    arn = create(db, "orders" + suffix, shards=2)
    for name in ("flying", "returned"):
        send(db, arn, name, group=name)
    received = [m for _ in range(2) for m in receive(db, arn, visibility=900)]
    change(db, [m for m in received if m.body == "returned"], 0)
    send(db, arn, "received", group="received")
    assert {m.body for _ in range(2) for m in receive(db, arn, visibility=0)} == {"returned", "received"}
    if not suffix:
        send(db, arn, "delayed", delay=900)
    send(db, arn, "fresh", group="fresh")
    return arn


@BOTH
def test_a_search_finds_messages_of_every_state_and_receives_none(db: Connection, suffix: str) -> None:
    arn = in_every_state(db, suffix)
    before = (
        counts(db, arn),
        value(db, "select count(*) from queue.lease"),
        value(db, "select sum(receive_count) from queue.side"),
    )
    visible = {"returned", "received", "fresh"}
    delayed = set() if suffix else {"delayed"}
    found = search(db, arn)
    assert (sorted(found.bodies), found.end.looked_at, found.end.next) == (
        sorted(visible | delayed | {"flying"}), 4 + len(delayed), None,
    )  # fmt: skip
    assert set(search(db, arn, states=["visible"]).bodies) == visible
    assert search(db, arn, states=["in_flight"]).bodies == ["flying"]
    assert set(search(db, arn, states=["delayed", "in_flight"]).bodies) == {"flying"} | delayed
    after = (
        counts(db, arn),
        value(db, "select count(*) from queue.lease"),
        value(db, "select sum(receive_count) from queue.side"),
    )
    assert after == before
    assert {m.receive_count for m in receive(db, arn) if m.body == "fresh"} == {1}


@BOTH
@pytest.mark.parametrize("bound", [{"limit": 1}, {"scan": 1}, {"limit": 2, "scan": 3}])
def test_pages_have_each_message_once(db: Connection, suffix: str, bound: dict[str, int]) -> None:
    arn = in_every_state(db, suffix)
    send(db, arn, *(f"m{n}" for n in range(5)), group="g:1")
    expected = sorted(search(db, arn).bodies)
    found, looked_at, after = [], 0, None
    while True:
        page = search(db, arn, after, **bound)
        found += page.bodies
        looked_at += page.end.looked_at or 0
        after = page.end.next
        if after is None:
            break
        assert page.end.looked_at == next(iter(bound.values()))
    assert (sorted(found), looked_at) == (expected, len(expected))


BODY = '{"order":{"id":42,"lines":[{"sku":"a.b"}]},"note":null,"nul":"x\\u0000"}'


@pytest.mark.shared
@pytest.mark.parametrize(("filters", "passes"), [
    ({}, True),
    ({"text": '"id":42'}, True), ({"text": "ID"}, False), ({"text": "%"}, False),
    ({"json": {"path": ["order", "id"], "equals": 42}}, True),
    ({"json": {"path": ["order", "id"], "equals": 42.0}}, True),
    ({"json": {"path": ["order", "id"], "equals": "42"}}, False),
    ({"json": {"path": ["order", "lines", "0", "sku"], "equals": "a.b"}}, True),
    ({"json": {"path": ["note"], "equals": None}}, True),
    ({"json": {"path": ["missing"], "equals": None}}, False),
    ({"attribute": {"name": "tenant"}}, True), ({"attribute": {"name": "other"}}, False),
    ({"attribute": {"name": "tenant", "equals": "a"}}, True), ({"attribute": {"name": "tenant", "equals": "b"}}, False),
    ({"group_id": "g"}, True), ({"group_id": "h"}, False),
    ({"older_than_seconds": 60}, True), ({"older_than_seconds": 7200}, False),
    ({"newer_than_seconds": 7200}, True), ({"newer_than_seconds": 60}, False),
    ({"min_receive_count": 1}, False), ({"max_receive_count": 0}, True),
    ({"text": "order", "group_id": "h"}, False),
    ({"json": {"path": ["nul"], "equals": "x\ufffd"}}, True),
])  # fmt: skip
@BOTH
def test_each_member_of_a_filter(db: Connection, suffix: str, filters: dict[str, Any], passes: bool) -> None:
    arn = create(db, f"{uuid4().hex}{suffix}")
    attributes = json.dumps({"tenant": {"DataType": "String", "StringValue": "a"}})
    system = None if suffix else json.dumps({"MessageGroupId": "g"})
    entries = [
        Entry(body, 0 if suffix else 900, "g" if suffix else None, body if suffix else None, attributes, system)
        for body in (BODY, "order, not JSON")
    ]
    send_entries(db, arn, [entry._replace(delay=None) if suffix else entry for entry in entries])
    for table in ("side", "fifo_message"):
        db.execute(f"update queue.{table} set sent_at = sent_at - interval '1 hour'")
    assert (BODY in search(db, arn, **filters).bodies) is passes


@BOTH
def test_dead_letters_have_their_source_and_all_their_receives(db: Connection, suffix: str) -> None:
    dead, one, two = dead_queue(db, suffix, "one", "two")
    poison(db, one, dead, "b1")
    poison(db, two, dead, "c1")
    assert search(db, dead, source_arn=one).bodies == ["b1"]
    assert sorted(search(db, dead, min_receive_count=1, max_receive_count=1).bodies) == ["b1", "c1"]
    receive(db, dead, visibility=0)
    (row, _, _) = call(db, SEARCH_MESSAGES, dead, "{}", None, 10, 10, None)
    assert (row.receive_count, row.total_receive_count, row.source_arn) == (1, 2, one)
    assert row.entered_by == "dead_lettered"


def test_a_search_reports_the_number_of_messages_only_if_it_was_measured(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "a", "b", "c")
    assert search(db, arn, scan=2).end.messages is None
    db.execute(
        "insert into queue.measurement (queue_id, measured_at, visible, in_flight, delayed, noisy_groups, "
        "dead_lettered) values (%s, now(), 3, 2, 1, 0, 0)",
        [queue_id(db, arn)],
    )
    assert search(db, arn, scan=2).end.messages == 6
    assert call(db, SEARCH_MESSAGES, arn + "x", "{}", None, 10, 10, None) == []


def test_a_page_ends_with_the_bytes_that_fill_it(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *["x" * 100] * 5)
    *rows, end = call(db, SEARCH_MESSAGES, arn, "{}", None, 10, 10, 150)
    assert (len(rows), end.looked_at) == (2, 2)
    assert end.next is not None
    assert counts(db, arn) == Counts(5, 0, 0)


def groups(
    db: Connection, arn: str, *by: str, attribute: str | None = None, scan: int = 1_000, most: int = 50
) -> tuple[list[list[FailureRow]], FailureRow]:
    """Returns the samples of each group, and the last row."""
    *rows, end = call(db, GROUP_FAILURES, arn, list(by), attribute, "{}", None, scan, most, 3, False)
    numbers = sorted({row.group_number for row in rows})
    assert numbers == list(range(1, len(numbers) + 1))
    return [[row for row in rows if row.group_number == number] for number in numbers], end


@BOTH
def test_by_source_with_counts_and_three_samples(db: Connection, suffix: str) -> None:
    dead, one, two = dead_queue(db, suffix, "one", "two")
    poison(db, one, dead, "a1", "b1", "c1", "d1")
    poison(db, two, dead, "e1")
    found, end = groups(db, dead, "source")
    assert [(rows[0].group_source_arn, rows[0].group_messages, len(rows)) for rows in found] == [
        (one, 4, 3),
        (two, 1, 1),
    ]
    assert (end.looked_at, end.groups, end.next) == (5, 2, None)
    (first, *_), _ = found
    assert {row.body for row in found[0]} < {"a1", "b1", "c1", "d1"}
    assert first.oldest_ms <= min(row.entered_at_ms for row in found[0])
    assert first.newest_ms == first.entered_at_ms == max(row.entered_at_ms for row in found[0])


def test_by_receive_count_and_attribute(db: Connection) -> None:
    arn = create(db)
    attributes = '{"tenant": {"DataType": "String", "StringValue": "%s"}}'
    send_entries(db, arn, [Entry("1", attributes=attributes % "a"), Entry("2", attributes=attributes % "b")])
    receive(db, arn, visibility=0)
    send_entries(db, arn, [Entry("3", attributes=attributes % "a"), Entry("4")])
    found, _ = groups(db, arn, "receive_count")
    assert {rows[0].group_receive_count: rows[0].group_messages for rows in found} == {0: 2, 1: 2}
    found, _ = groups(db, arn, "attribute", attribute="tenant")
    assert {rows[0].group_attribute: rows[0].group_messages for rows in found} == {"a": 2, "b": 1, None: 1}


def test_groups_report_the_read_messages_and_the_omitted_groups(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *(f'{{"m{n}": 1}}' for n in range(5)))
    found, end = groups(db, arn, "shape", scan=3, most=2)
    assert (len(found), end.groups, end.looked_at, end.next is None) == (2, 3, 3, False)
    assert call(db, GROUP_FAILURES, arn + "x", [], None, "{}", None, 1, 1, 1, False) == []


SAME = [
    ('{"a":1,"b":"x"}', '{"b": "", "a": -2.5e3}'),
    ('{"a":[1,2,3]}', '{"a":[4]}'),
    ('{"a":[{"b":1},{"b":2}]}', '{"a":[{"b":3}]}'),
    ('[1,"a"]', '["b",2,3]'),
    ("not JSON", "{nor this"),
    (base64.b64encode(b"x" * 20).decode(), base64.b64encode(b"other bytes!").decode()),
    ("1", "2"),
    (r'{"a":"\u0000","b":"\ud83d"}', '{"a":"x","b":"y"}'),
    (json.dumps(dict.fromkeys(map(str, range(201)))), json.dumps({f"n{n}": n for n in range(500)})),
]
OTHER = [
    ('{"a":1}', '{"a":"1"}'), ('{"a":1}', '{"b":1}'), ('{"a":1}', '{"a":1,"b":1}'), ('{"a":null}', '{"a":1}'),
    ('{"a":{"b":1},"c":{}}', '{"a":{},"c":{"b":1}}'), ('{"a":[1]}', '{"a":["1"]}'), ('{"a":[1]}', '{"a":[1,"1"]}'),
    ('{"a":{"b":{"c":1}}}', '{"a":{"b":{"c":true}}}'), ("text", base64.b64encode(b"x" * 20).decode()), ("1", "x"),
    ('"x"', "x"), ('{"a":[]}', '{"a":[1]}'), ("[]", "{}"), ('"x', '"x"'),
    (json.dumps(dict.fromkeys(map(str, range(200)))), json.dumps(dict.fromkeys(map(str, range(1, 201))))),
]  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize(("one", "other", "alike"), [(*p, True) for p in SAME] + [(*p, False) for p in OTHER])
def test_which_bodies_have_one_shape(db: Connection, one: str, other: str, alike: bool) -> None:
    assert value(db, "select queue.body_shape(%s) = queue.body_shape(%s)", one, other) is alike


@pytest.mark.shared
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'["\ud83d", "x\u0000"]', ["\ufffd", "x\ufffd"]),
        (r'["\ud83d\ude00\ude00\uD83D"]', ["\U0001f600\ufffd\ufffd"]),
        (r'["\ud83d\ud83d\uDE00"]', ["\ufffd\U0001f600"]),
        (r'["\\ud83d\ude00", "\\\ud83d"]', ["\\ud83d\ufffd", "\\\ufffd"]),
        (r'["\\u0000\u0000\u0000"]', ["\\u0000\ufffd\ufffd"]),
        (r'{"\ude00": "\ud83d\u0041"}', {"\ufffd": "\ufffdA"}),
        (r'["\ud83d"', r'["\ud83d"'),
    ],
)  # fmt: skip
def test_escapes_that_jsonb_refuses(db: Connection, text: str, expected: Any) -> None:
    """RFC 8259 allows escapes that PostgreSQL's type jsonb refuses. SQL shows the same texts as the REST API and
    filters, except for U+0000, which SQL cannot show."""
    assert value(db, "select queue.as_json(%s)", text) == expected
    shown = json.loads(bytes(convert_to_json(text)))
    assert repr(shown).replace("\\x00", "\ufffd") == repr(expected)


def test_a_shape_is_no_longer_than_a_hash(db: Connection) -> None:
    """A list around an object must not double the quotes around the names in the object."""
    wide = json.dumps(dict.fromkeys((f"n{n:04}" for n in range(200)), "x"))
    nested = "[" * 7 + ",".join([wide, '{"a":[[{"b":{"c":"d"}}]]}'] * 10) + "]" * 7
    assert value(db, "select length(queue.body_shape(%s))", nested) == 32


@BOTH
def test_a_search_that_takes_long_ends_early_and_says_so(db: Connection, suffix: str) -> None:
    arn = create(db, "orders" + suffix, shards=1)
    send(db, arn, "a", "b", group="g")
    find = """select f.body, f.looked_at, f.next
        from queue.find_messages(%s, '{}', clock_timestamp(), %s, 9, 9, null, true, 0) f"""
    seen, after = [], None
    for _ in range(2):
        (body, *_), (*_, looked_at, after) = db.execute(find, [queue_id(db, arn), after]).fetchall()
        seen.append((body, looked_at, after is None))
    assert seen == [("a", 1, False), ("b", 1, True)]


def test_a_body_too_deep_or_too_long_has_a_shape(db: Connection) -> None:
    assert value(db, "select queue.body_shape(repeat('[', 60000))") == "text"
    assert value(db, "select queue.body_shape(repeat('[', 30000) || repeat(']', 30000))") is not None
    assert value(db, "select queue.body_shape('\"' || repeat('a', 65536) || '\"')") == "long"
