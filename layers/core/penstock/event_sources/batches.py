"""Receives a batch of messages for a mapping, with the permissions of the mapping's creator."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

import msgspec

from penstock.access.authorization import authorize_one
from penstock.access.users import build_user
from penstock.aws.named_queue import NamedQueue
from penstock.context import Context
from penstock.effects import LONG_DIGEST_BYTES, Call, Operation, compute
from penstock.environment import Environment
from penstock.errors import AccessDenied
from penstock.http import HttpRequest
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.mappings import FILTER_MESSAGES, USER_POLICIES
from penstock.postgres.statements.messages import FailureEntry, ReceiptHandle, ReceivedRow
from penstock.sns.filter_policy.facts import UNJUDGED
from penstock.sns.filter_policy.unjudged import report_unjudged
from penstock.sqs import failures
from penstock.sqs.delete import delete
from penstock.sqs.receive import build_receive, receive_messages

from . import filters
from .checks import DEFAULT_BATCH
from .event import Record, build_record, encode_record
from .types import Options

MAX_PER_RECEIVE = 10
CONCURRENCY = 5
"""The number of concurrent invocations of a mapping without ScalingConfig.

AWS starts with the same number ("Configuring scaling behavior",
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html).
"""


class StoredMapping(msgspec.Struct, kw_only=True):
    """A stored mapping."""

    mapping_id: UUID
    account_id: str
    region: str
    queue_arn: str
    function_arn: str
    user_name: str | None
    options: Options
    filters: list[object] | None
    enabled: bool
    reason: str
    last_result: str
    tags: dict[str, str]
    updated_at: float
    revision: int
    invocations: int
    failed_invocations: int
    failing_since: float | None

    @property
    def queue(self) -> NamedQueue:
        """Returns the queue from which the mapping receives."""
        return NamedQueue(self.queue_arn)

    @property
    def batch_size(self) -> int:
        """Returns the maximum number of messages in a batch."""
        return self.options.batch_size or DEFAULT_BATCH

    @property
    def window_seconds(self) -> int:
        """Returns the seconds for which a batch collects messages after its first message."""
        return self.options.maximum_batching_window_in_seconds or 0

    @property
    def concurrency(self) -> int:
        """Returns the maximum number of concurrent invocations."""
        scaling = self.options.scaling_config
        return (scaling.maximum_concurrency if scaling is not None else None) or CONCURRENCY

    @property
    def reports_items(self) -> bool:
        """Returns whether the response names the failed messages."""
        return bool(self.options.function_response_types)


def read_mapping(row: JsonObject) -> StoredMapping:
    return msgspec.convert(row, StoredMapping)


def build_context(mapping: StoredMapping, environment: Environment) -> Context:
    """Returns the context of a mapping's receives and deletes. The context is the same as for a request from the
    mapping's account."""
    http = HttpRequest("POST", "/", b"", {}, b"")
    return Context(mapping.account_id, mapping.region, environment.request_ids(), environment, http)


def check_rights(mapping: StoredMapping, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the mapping's creator can still receive and delete messages.

    On AWS the execution role needs the permissions to receive and delete ("Configuring queue permissions").
    """
    if context.environment.settings.queue_access != "sigv4":
        return
    policies: list[str] | None = None
    if mapping.user_name is not None:
        rows = yield from Call(USER_POLICIES, (mapping.account_id, mapping.user_name))
        if not rows:
            raise AccessDenied(f"The user {mapping.user_name} does not exist any more.")
        policies = rows[0].policies
    context.user = build_user(mapping.account_id, mapping.user_name, policies)
    for action in ("ReceiveMessage", "DeleteMessage"):
        yield from authorize_one("sqs", action, mapping.queue_arn, context)


def receive(mapping: StoredMapping, count: int, wait_seconds: float, context: Context) -> Operation[list[ReceivedRow]]:
    """Waits for messages and returns up to `count`. Raises QueueDoesNotExist."""
    effect = build_receive(mapping.queue, min(count, MAX_PER_RECEIVE), None, wait_seconds, context)
    return (yield from receive_messages(effect, context, mapping.function_arn))


def build_records(mapping: StoredMapping, rows: Sequence[ReceivedRow], context: Context) -> Operation[list[Record]]:
    """Creates records of the messages that match the filter. Deletes the messages that do not match, as AWS does."""
    receipts = context.environment.receipts
    gathered = mapping.window_seconds > 0
    size = sum(len(row.body) for row in rows)
    records = yield from compute(
        lambda: [build_record(row, mapping.queue, receipts, gathered=gathered) for row in rows], size, LONG_DIGEST_BYTES
    )
    passed = set(range(1, len(rows) + 1))
    if mapping.filters is not None:
        facts = yield from compute(partial(filters.encode_facts, records), size)
        yield from report_unjudged("mapping", mapping.queue_arn, facts.count(UNJUDGED))
        patterns = [msgspec.json.encode(pattern).decode() for pattern in mapping.filters]
        passed = {row.n for row in (yield from Call(FILTER_MESSAGES, (patterns, [fact.decode() for fact in facts])))}
        left_out = [row for n, row in enumerate(rows, 1) if n not in passed]
        yield from delete_messages(mapping, left_out)
    return (
        yield from compute(
            lambda: [encode_record(rows[n - 1], records[n - 1]) for n in sorted(passed)], size, LONG_DIGEST_BYTES
        )
    )


def delete_messages(mapping: StoredMapping, rows: Sequence[ReceivedRow]) -> Operation[None]:
    """Deletes messages, except messages that other consumers have received since."""
    if rows:
        yield from delete(mapping.queue, [ReceiptHandle._make(row.handle) for row in rows])


def store_failures(mapping: StoredMapping, rows: Sequence[ReceivedRow], error: str) -> Operation[None]:
    """Stores the error as the failure of each message, without a change of the messages' visibility."""
    cleaned = failures.clean_error(error)
    if rows and cleaned is not None:
        entries = [FailureEntry(*ReceiptHandle._make(row.handle), None, cleaned) for row in rows]
        yield from failures.store(mapping.queue, entries)
