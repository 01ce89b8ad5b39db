"""Finds the messages of a batch that a function's answer reports as failed.

Source: "Handling errors for an SQS event source in Lambda", the conditions of success and failure of
ReportBatchItemFailures, https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html. We chose that an
unknown identifier fails the whole batch. We also chose that a failed message of a FIFO queue makes all later messages
of its group fail, whatever the answer says, since AWS asks the function to stop at the failed message.
"""

from collections.abc import Sequence

import msgspec

from penstock.aws.json_text import decode_json
from penstock.postgres.statements.messages import ReceivedRow


class Malformed(Exception):  # noqa: N818 - named for the answer
    """The answer is invalid, so the whole batch has failed."""


def read_failed_ids(body: bytes, message_ids: frozenset[str]) -> frozenset[str]:
    """Returns the ids of messages that an answer reports as failed. Raises Malformed."""
    if not body.strip():
        return frozenset()
    try:
        answer = decode_json(body)
    except (RecursionError, ValueError):
        raise Malformed("the answer is not JSON") from None
    if answer is None or answer == {}:
        return frozenset()
    if not isinstance(answer, dict):
        raise Malformed("the answer is not an object")
    failures = answer.get("batchItemFailures")
    if failures is None:
        return frozenset()
    if not isinstance(failures, list):
        raise Malformed("batchItemFailures is not a list")
    found = frozenset(
        str(failure.get("itemIdentifier")) if isinstance(failure, dict) else "" for failure in failures
    )
    if not found <= message_ids:
        raise Malformed("an itemIdentifier is not the id of a message of the batch")
    return found


def select_succeeded(rows: Sequence[ReceivedRow], failed: frozenset[str], *, fifo: bool) -> list[ReceivedRow]:
    """Returns the messages that may be deleted."""
    stopped: set[str] = set()
    done: list[ReceivedRow] = []
    for row in rows:
        group = read_group(row) if fifo else ""
        if row.message_id in failed:
            stopped.add(group)
        elif not fifo or group not in stopped:
            done.append(row)
    return done


def read_group(row: ReceivedRow) -> str:
    """Returns the message group of a FIFO queue's message."""
    system = msgspec.json.decode(row.system or "{}")
    return str(system.get("MessageGroupId", ""))
