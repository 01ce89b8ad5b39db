"""Finds the messages that a function's response reports as failed.

Source: "Handling errors for an SQS event source in Lambda", the conditions of success and failure of
ReportBatchItemFailures, https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html. Penstock chose
two rules. An unknown identifier fails the whole batch. A failed message of a FIFO queue fails all later messages of the
group, because AWS tells functions to stop at the failed message.
"""

from collections.abc import Sequence

import msgspec

from penstock.aws.json_text import decode_json
from penstock.postgres.statements.messages import ReceivedRow


class Malformed(Exception):  # noqa: N818 - named for the response
    """The response is invalid, so the whole batch has failed."""


def read_failed_ids(body: bytes, message_ids: frozenset[str]) -> frozenset[str]:
    """Returns the ids of the messages that a response reports as failed. Raises Malformed."""
    if not body.strip():
        return frozenset()
    try:
        response = decode_json(body)
    except (RecursionError, ValueError):
        raise Malformed("the response is not JSON") from None
    if response is None or response == {}:
        return frozenset()
    if not isinstance(response, dict):
        raise Malformed("the response is not an object")
    failures = response.get("batchItemFailures")
    if failures is None:
        return frozenset()
    if not isinstance(failures, list):
        raise Malformed("batchItemFailures is not a list")
    found = frozenset(str(failure.get("itemIdentifier")) if isinstance(failure, dict) else "" for failure in failures)
    if not found <= message_ids:
        raise Malformed("an itemIdentifier is not the id of a message of the batch")
    return found


def select_succeeded(rows: Sequence[ReceivedRow], failed: frozenset[str], *, fifo: bool) -> list[ReceivedRow]:
    """Returns the messages that did not fail and can therefore be deleted."""
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
    system = msgspec.json.decode(row.system or "{}")
    return str(system.get("MessageGroupId", ""))
