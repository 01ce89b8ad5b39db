"""What the event loop does itself of a batch, and what a thread does."""

from __future__ import annotations

from uuid import UUID

import pytest

from penstock.effects import Call, Compute
from penstock.environment import Environment
from penstock.event_sources.batches import Mapping, build_records, make_context
from penstock.event_sources.types import Options
from penstock.postgres.statements.messages import ReceivedRow
from penstock.receipt_handle import ReceiptHandles
from penstock.settings import Settings


@pytest.mark.parametrize(("length", "first"), [(10, Call), (100_000, Compute)])
def test_a_filter_reads_long_bodies_in_a_thread(length: int, first: type) -> None:
    """Ten messages of a MiB of tiny values take seconds."""
    mapping = Mapping(
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
