"""Checks that a function exists, and that its timeout does not exceed the queue's visibility timeout."""

import json
from functools import partial

from penstock.aws.function_arn import parse_function
from penstock.context import Context
from penstock.delivery.functions.configuration import read_function_state
from penstock.effects import Ask, Call, Operation
from penstock.postgres.statements.queues import DESCRIBE_QUEUE

from .errors import InvalidParameterValueException
from .targets import is_url


def read_function_timeout(target: str, context: Context) -> Operation[int | None]:
    """Returns a target's timeout in seconds. Returns None for a URL, and for a function whose timeout Lambda does not
    report.

    Raises InvalidParameterValueException if Lambda reports that the function does not exist. AWS checks the function
    before the queue, so callers must call this function before they check the queue.
    """
    function = None if is_url(target) else parse_function(target, context.account_id, context.region)
    if function is None:
        return None
    state = yield from Ask(partial(read_function_state, context.environment.settings.queue_lambda_endpoint, function))
    if state.is_missing:
        raise InvalidParameterValueException("Function does not exist", member="FunctionName")
    return state.timeout_seconds


def check_visibility(seconds: int | None, queue_arn: str) -> Operation[None]:
    """Raises InvalidParameterValueException if the queue's visibility timeout is shorter than the function's timeout.

    The function checks neither an unknown timeout nor a URL. Messages stay invisible during a request to a URL. Source:
    "Creating and configuring an Amazon SQS event source mapping",
    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
    """
    if seconds is None:
        return
    for row in (yield from Call(DESCRIBE_QUEUE, (queue_arn, False))):
        visible = int(json.loads(row.attributes)["VisibilityTimeout"])
        if visible < seconds:
            raise InvalidParameterValueException(
                f"Queue visibility timeout: {visible} seconds is less than Function timeout: {seconds} seconds",
                member="EventSourceArn",
            )
