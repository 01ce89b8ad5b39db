"""Converts the error codes of SQL functions to AWS's errors and texts."""

from collections.abc import Callable

from penstock import errors

from . import attributes, validation
from .types import BatchResultErrorEntry

_TEXTS: dict[str, Callable[[str], errors.AwsError]] = {
    "MessageTooLong": lambda most: validation.build_length_error(int(most)),
    "MissingParameter": errors.MissingParameter.named,
    "DeduplicationIdRequired": lambda _: errors.InvalidParameterValue(
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
    ),
    "QueueNameExists": lambda attribute: errors.QueueNameExists(
        f"A queue already exists with the same name and a different value for attribute {attribute}"
    ),
    "QueueDeletedRecently": lambda seconds: errors.QueueDeletedRecently(
        f"You must wait {seconds} seconds after deleting a queue before you can create another with the same name."
    ),
    "ReceiveAttemptOver": lambda attempt_id: errors.InvalidParameterValue(
        f"Value {attempt_id} for parameter ReceiveRequestAttemptId is invalid. Reason: The receiveRequestAttemptId is "
        "not valid anymore since the receive call is not retryable."  # amazon-sqs-java-messaging-lib, issue 213
    ),
    "ScopeNeeded": lambda _: attributes.build_scope_error(),
    "TooManyTags": lambda name: errors.InvalidParameterValue(f"Too many tags added for queue {name}."),
    "ResourceNotFoundException": lambda parameter: errors.ResourceNotFoundException(
        "Task does not exist."
        if parameter == "TaskHandle"
        else f"The resource that you specified for the {parameter} parameter doesn't exist."
    ),
    "NotADeadLetterQueue": lambda _: errors.InvalidParameterValue(
        "Source queue must be configured as a Dead Letter Queue."
    ),
    "MoveToItself": lambda _: errors.InvalidParameterValue("Source queue and destination queue must not be the same."),
    "MoveToOtherType": lambda _: errors.InvalidParameterValue(
        "Source queue and destination queue must be of the same type."
    ),
    "MoveTaskRunning": lambda _: errors.InvalidParameterValue(
        "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
    ),
    # The text is AWS's and does not depend on QUEUE_PURGE_INTERVAL_SECONDS.
    "PurgeQueueInProgress": lambda name: errors.PurgeQueueInProgress(
        f"Only one PurgeQueue operation on {name} is allowed every 60 seconds."
    ),
}


def build_sql_error(code: str, detail: str | None) -> errors.AwsError:
    """Returns the error for a code in the column `error` and its detail."""
    text = _TEXTS.get(code)
    return errors.build_sql_error(code) if text is None else text(detail or "")


def build_entry_error(code: str, detail: str | None) -> errors.AwsError:
    """Returns the error for one entry of a batch. For a message in a batch that is too long, AWS has a different text
    (recorded at AWS)."""
    if code == "MessageTooLong":
        return validation.build_length_error(int(detail or 0), "cannot be validated")
    return build_sql_error(code, detail)


def build_failed_entry(entry_id: str, error: errors.AwsError) -> BatchResultErrorEntry:
    """Returns the error of a batch entry."""
    return BatchResultErrorEntry(
        id=entry_id, sender_fault=error.sender_fault, code=error.query_code, message=error.message
    )
