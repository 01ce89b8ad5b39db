"""Dead letters in groups: similar letters are counted together, and the answer covers exactly those that were read."""

from __future__ import annotations

import base64

import pytest

from penstock.postgres.statements.stored_messages import GROUP_FAILURES, FailureRow
from tests.support.sql.calls import Connection, Entry, call, create, receive, send, send_entries, value
from tests.support.sql.move_tasks import BOTH, dead_queue, poison


def groups(
    db: Connection, arn: str, *by: str, attribute: str | None = None, scan: int = 1_000, most: int = 50
) -> tuple[list[list[FailureRow]], FailureRow]:
    """The samples of each group, and the last row."""
    *rows, end = call(db, GROUP_FAILURES, arn, list(by), attribute, "{}", None, scan, most, 3)
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


def test_it_says_what_it_looked_at_and_leaves_out(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *(f'{{"m{n}": 1}}' for n in range(5)))
    found, end = groups(db, arn, "shape", scan=3, most=2)
    assert (len(found), end.groups, end.looked_at, end.next is None) == (2, 3, 3, False)
    assert call(db, GROUP_FAILURES, arn + "x", [], None, "{}", None, 1, 1, 1) == []


SAME = [
    ('{"a":1,"b":"x"}', '{"b": "", "a": -2.5e3}'),
    ('{"a":[1,2,3]}', '{"a":[4]}'),
    ('{"a":[{"b":1},{"b":2}]}', '{"a":[{"b":3}]}'),
    ('[1,"a"]', '["b",2,3]'),
    ("not JSON", "{nor this"),
    (base64.b64encode(b"x" * 20).decode(), base64.b64encode(b"other bytes!").decode()),
    ("1", "2"),
]
OTHER = [
    ('{"a":1}', '{"a":"1"}'), ('{"a":1}', '{"b":1}'), ('{"a":1}', '{"a":1,"b":1}'), ('{"a":null}', '{"a":1}'),
    ('{"a":{"b":1},"c":{}}', '{"a":{},"c":{"b":1}}'), ('{"a":[1]}', '{"a":["1"]}'), ('{"a":[1]}', '{"a":[1,"1"]}'),
    ('{"a":{"b":{"c":1}}}', '{"a":{"b":{"c":true}}}'), ("text", base64.b64encode(b"x" * 20).decode()), ("1", "x"),
    ('"x"', "x"), ('{"a":[]}', '{"a":[1]}'), ("[]", "{}"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "alike"), [(*p, True) for p in SAME] + [(*p, False) for p in OTHER])
def test_which_bodies_have_one_shape(db: Connection, one: str, other: str, alike: bool) -> None:
    assert value(db, "select queue.body_shape(%s) = queue.body_shape(%s)", one, other) is alike


def test_a_body_too_deep_or_too_long_has_a_shape(db: Connection) -> None:
    assert value(db, "select queue.body_shape(repeat('[', 60000))") == "text"
    assert value(db, "select queue.body_shape(repeat('[', 30000) || repeat(']', 30000))") is not None
    assert value(db, "select queue.body_shape('\"' || repeat('a', 65536) || '\"')") == "long"
