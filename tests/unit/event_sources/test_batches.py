"""What the event loop does itself of a batch, and what a thread does.

What an answer reports. Source: "Handling errors for an SQS event source in Lambda" (AWS Lambda Developer Guide).
"""

from __future__ import annotations

from uuid import UUID

import pytest

from penstock.effects import Call, Compute
from penstock.environment import Environment
from penstock.event_sources.answer import Malformed, read_failed_ids, select_succeeded
from penstock.event_sources.batches import StoredMapping, build_records, make_context
from penstock.event_sources.event import MOST_BYTES, Record, build_event, split_events
from penstock.event_sources.types import Options
from penstock.postgres.statements.messages import ReceivedRow
from penstock.receipt_handle import ReceiptHandles
from penstock.settings import Settings


@pytest.mark.parametrize(("length", "first"), [(10, Call), (100_000, Compute)])
def test_a_filter_reads_long_bodies_in_a_thread(length: int, first: type) -> None:
    """Ten messages of a MiB of tiny values take seconds."""
    mapping = StoredMapping(
        mapping_id=UUID(int=1), account_id="000000000000", region="us-east-1", user_name=None, options=Options(),
        queue_arn="arn:aws:sqs:us-east-1:000000000000:orders", function_arn="http://127.0.0.1:1/",
        filters=[{}], enabled=True, reason="", last_result="", tags={}, updated_at=0.0, revision=1, invocations=0,
        failed_invocations=0, failing_since=None,
    )  # fmt: skip
    body = f'{{"a": "{"x" * length}"}}'
    row = ReceivedRow(None, None, 1, 0, 0, 1, 1, str(UUID(int=1)), 0, 0, body, None, None, 1, 30_000, 0)
    environment = Environment(Settings.read({}), ReceiptHandles(b"k" * 32))
    effect = next(build_records(mapping, [row], make_context(mapping, environment)))
    assert isinstance(effect, first)


IDS = frozenset(("a", "b"))


def row(message_id: str, group: str) -> ReceivedRow:
    values = dict.fromkeys(ReceivedRow._fields)
    return ReceivedRow(**{**values, "message_id": message_id, "system": f'{{"MessageGroupId": "{group}"}}'})  # type: ignore[arg-type]


def test_ids_that_have_failed() -> None:
    assert read_failed_ids(b'{"batchItemFailures": [{"itemIdentifier": "b"}]}', IDS) == {"b"}


@pytest.mark.parametrize("body", [b"", b" ", b"null", b"{}", b'{"batchItemFailures": null}', b'{"other": 1}'])
def test_success(body: bytes) -> None:
    assert read_failed_ids(body, IDS) == frozenset()


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b'"ok"', b"\xff", b'{"batchItemFailures": {}}', b'{"batchItemFailures": ["a"]}',
     b'{"batchItemFailures": [{"itemIdentifier": "c"}]}', b'{"batchItemFailures": [{"itemIdentifier": 1}]}'],
)  # fmt: skip
def test_failure_of_the_batch(body: bytes) -> None:
    with pytest.raises(Malformed):
        read_failed_ids(body, IDS)


def test_a_fifo_queue_keeps_what_stands_behind_a_failure_of_the_group() -> None:
    rows = [row("1", "x"), row("2", "y"), row("3", "x"), row("4", "y")]
    assert [one.message_id for one in select_succeeded(rows, frozenset("2"), fifo=True)] == ["1", "3"]
    assert [one.message_id for one in select_succeeded(rows, frozenset("2"), fifo=False)] == ["1", "3", "4"]


def test_events_have_6_mb_at_most() -> None:
    """A message of any size is alone rather than not sent at all."""
    sizes = [MOST_BYTES // 2, MOST_BYTES // 2, 10, MOST_BYTES + 1, 10]
    records = [Record(row(str(n), "x"), b'"' + b"x" * (size - 2) + b'"') for n, size in enumerate(sizes)]
    parts = list(split_events(records))
    assert [[record.row.message_id for record in part] for part in parts] == [["0"], ["1", "2"], ["3"], ["4"]]
    assert len(build_event(parts[1])) <= MOST_BYTES
