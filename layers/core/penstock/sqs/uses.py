"""Lists the resources that requests of SQS use, for authorization."""

from base64 import b64decode
from typing import Protocol

import msgspec

from penstock.access.resources import ACCOUNT_USE, Use, Uses, use_new
from penstock.aws.arn import is_account_id, parse_queue_arn, resolve_queue_arn
from penstock.context import Context

from .types import (
    CancelMessageMoveTaskRequest,
    CreateQueueRequest,
    GetQueueUrlRequest,
    ListMessageMoveTasksRequest,
    StartMessageMoveTaskRequest,
)

MAX_TASK_HANDLE_LENGTH = 1_024


class _WithQueueUrl(Protocol):
    queue_url: str


def use_new_queue(request: CreateQueueRequest, context: Context) -> Uses:
    return (use_new("sqs", request.queue_name, context),)


def use_queue(request: _WithQueueUrl, context: Context) -> Uses:
    """Returns the queue at a QueueUrl. Raises QueueDoesNotExist."""
    return (Use(context.queue_arn(request.queue_url)),)


def use_queue_of_owner(request: GetQueueUrlRequest, context: Context) -> Uses:
    """Returns the queue with this name in the named account, or otherwise in the caller's account."""
    owner = request.queue_owner_aws_account_id or context.account_id
    arn = resolve_queue_arn(context.region, owner, request.queue_name) if is_account_id(owner) else None
    return (ACCOUNT_USE,) if arn is None else (Use(arn),)


def use_source(request: StartMessageMoveTaskRequest | ListMessageMoveTasksRequest, _: Context) -> Uses:
    """Returns the source queue of a message move task."""
    return (_use_queue_arn(request.source_arn),)


def use_source_and_destination(request: StartMessageMoveTaskRequest, context: Context) -> Uses:
    """Returns the source of a message move task, and the destination if the request names one."""
    uses = list(use_source(request, context))
    destination = request.destination_arn
    if destination and parse_queue_arn(destination) is not None:
        uses.append(Use(destination, action=("sqs", "SendMessage")))
    return uses


def use_source_of_task(request: CancelMessageMoveTaskRequest, _: Context) -> Uses:
    """Returns the source queue in a message move task's handle (base64 of JSON)."""
    try:
        document = msgspec.json.decode(b64decode(request.task_handle[:MAX_TASK_HANDLE_LENGTH], validate=True))
    except (ValueError, msgspec.DecodeError, RecursionError):
        document = None
    return (_use_queue_arn(str(document.get("sourceArn", "")) if isinstance(document, dict) else ""),)


def _use_queue_arn(arn: str) -> Use:
    parsed = parse_queue_arn(arn)
    return ACCOUNT_USE if parsed is None else Use(str(parsed))
