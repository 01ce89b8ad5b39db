"""Finds queues by name, in the account and region of the request."""

from collections.abc import Iterable

from penstock import errors
from penstock.access.authorization import authorize_each
from penstock.aws.arn import resolve_queue
from penstock.aws.named_queue import NamedQueue
from penstock.context import Context
from penstock.effects import Operation


def find_queue(name: str, context: Context) -> NamedQueue:
    """Returns the queue. Raises QueueDoesNotExist for an impossible name."""
    queue = resolve_queue(context.region, context.account_id, name)
    if queue is None:
        raise errors.QueueDoesNotExist(member="QueueName")
    return queue


def build_queue_arn(name: str, context: Context) -> str:
    """Returns the queue's ARN. Raises QueueDoesNotExist for an impossible name."""
    return find_queue(name, context).arn


def authorize_queues(action: str, names: Iterable[str], context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller can perform the action on the queues that a body names.

    If QUEUE_ACCESS is not `sigv4`, every caller can perform the action. Raises QueueDoesNotExist for an impossible
    name.
    """
    if context.user is not None:
        arns = [build_queue_arn(name, context) for name in dict.fromkeys(names)]
        if arns:
            yield from authorize_each("sqs", action, arns, context)
