"""Checks that a function's timeout does not exceed its queue's visibility timeout."""

import json
from functools import partial

from penstock.aws.function_arn import parse_function
from penstock.context import Context
from penstock.delivery.functions.configuration import read_timeout
from penstock.effects import Ask, Call, Operation
from penstock.postgres.statements.queues import DESCRIBE_QUEUE

from .errors import InvalidParameterValueException
from .targets import is_url


def check_visibility(target: str, queue_arn: str, context: Context) -> Operation[None]:
    """Raises InvalidParameterValueException if the queue's visibility timeout is shorter than the function's timeout.

    It does not check a function whose timeout Lambda does not report (`timeout_of`), nor a URL, whose messages stay
    invisible during the request. Source: "Creating and configuring an Amazon SQS event source mapping",
    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
    """
    function = None if is_url(target) else parse_function(target, context.account_id, context.region)
    if function is None:
        return
    seconds = yield from Ask(
        partial(read_timeout, context.environment.settings.queue_lambda_endpoint, function)
    )
    if seconds is None:
        return
    for row in (yield from Call(DESCRIBE_QUEUE, (queue_arn, False))):
        visible = int(json.loads(row.attributes)["VisibilityTimeout"])
        if visible < seconds:
            raise InvalidParameterValueException(
                f"Queue visibility timeout: {visible} seconds is less than Function timeout: {seconds} seconds"
            )
