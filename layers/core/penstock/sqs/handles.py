"""Reads the receipt handles of requests, and raises AWS's errors for invalid handles."""

from penstock import errors
from penstock.aws.named_queue import NamedQueue
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.messages import ReceiptHandle
from penstock.postgres.statements.queues import DESCRIBE_QUEUE


def open_handle(queue: NamedQueue, handle: str, context: Context) -> Operation[ReceiptHandle]:
    """Returns the fields of a handle that belongs to this queue. Raises QueueDoesNotExist or ReceiptHandleIsInvalid."""
    opened = context.environment.receipts.open(queue, handle)
    if opened is None:
        yield from check_queue(queue.arn)
        raise build_handle_error(handle)
    return opened


def check_queue(arn: str) -> Operation[None]:
    """Raises QueueDoesNotExist if no queue has this ARN."""
    if not (yield from Call(DESCRIBE_QUEUE, (arn, False))):
        raise errors.QueueDoesNotExist


def check_outcomes(arn: str, outcomes: list[str]) -> Operation[None]:
    """Raises QueueDoesNotExist if the queue was deleted and no new queue has its name."""
    if "no_queue" in outcomes:
        yield from check_queue(arn)


def find_outcome_error(outcome: str, handle: str) -> errors.AwsError | None:
    """Returns the error for an invalid handle, or None if the caller must handle the outcome.

    A handle of a deleted queue is not valid for a new queue of the same name.
    """
    if outcome == "no_queue":
        return build_handle_error(handle)
    if outcome == "expired":
        return errors.InvalidParameterValue(
            f"Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
        )
    return None


def build_handle_error(handle: str) -> errors.AwsError:
    """Returns AWS's error for a text that is not a handle of this queue. The error truncates long texts."""
    return errors.ReceiptHandleIsInvalid(f'The input receipt handle "{handle[:1024]}" is not a valid receipt handle.')
