"""Checks the target, the role and the dead-letter queue of a subscriber.

The target is a queue, a topic, a Lambda function, another event bus, an API destination, or a universal target, which
calls an API action. AWS checks the form of the target's ARN, but not whether the target exists, and so does Penstock.
Penstock refuses AWS's other targets, because it could never deliver to them. Sources: the texts of errors, "Amazon
EventBridge event bus" (skill `amazon-eventbridge-event-bus` of AWS); "Universal targets for a Custom Event Bus"
(EventBridge User Guide, https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus-universal-targets.html).
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from penstock.access.functions import find_function_refusal
from penstock.aws.api_destination_arn import is_api_destination_arn
from penstock.aws.arn import parse_queue_arn, read_account, read_region
from penstock.aws.bus_arn import is_bus_arn
from penstock.aws.function_arn import parse_function_arn
from penstock.aws.sns_arn import parse_topic_arn
from penstock.aws.universal_target import (
    INVOKE,
    PUBLISH,
    SEND_MESSAGE,
    UniversalAction,
    UniversalTargetInvalid,
    is_universal,
    read_action,
)
from penstock.context import Context
from penstock.universal_calls import UniversalCall, read_call

from .errors import InvalidInputException
from .expressions.syntax import find_source
from .shapes import (
    BatchConfiguration,
    HttpParameters,
    LambdaParameters,
    MessageAttributeValue,
    OnFailureConfiguration,
    UniversalTargetParameters,
    UpdateInvokeConfiguration,
)

SUPPORTED = (
    "Penstock delivers to Amazon SQS queues, Amazon SNS topics, AWS Lambda functions, custom event buses, API "
    "destinations and the universal targets sqs:sendMessage, sns:publish and lambda:invoke."
)
DEFAULT_BATCH_SIZE = 10
MAX_FUNCTION_SECONDS = 30
NO_FUNCTIONS = "This installation invokes no functions: its setting QUEUE_LAMBDA_ENDPOINT is empty."
TARGET = "InvokeConfiguration.TargetArn"
UNIVERSAL = "UniversalTargetParameters"
UNIVERSAL_RIGHTS = {SEND_MESSAGE: "SendMessage", PUBLISH: "Publish"}
BLOCKS = {
    "lambda_parameters": "LambdaParameters",
    "sqs_parameters": "SqsParameters",
    "sns_parameters": "SnsParameters",
    "kinesis_parameters": "KinesisParameters",
    "step_functions_parameters": "StepFunctionsParameters",
    "http_parameters": "HttpParameters",
    "universal_target_parameters": "UniversalTargetParameters",
    "event_bus_v2_parameters": "EventBusV2Parameters",
    "msk_parameters": "MskParameters",
}


class TargetKind(NamedTuple):
    """A kind of target: how its ARN is recognised, its parameters, the most events of a batch, and the service and
    action by which Penstock delivers, or None for a function and for a universal target, whose input has both."""

    matches: Callable[[str], object]
    block: str
    most: int
    action: tuple[str, str] | None
    is_regional: bool = True


KINDS = (
    TargetKind(parse_queue_arn, "sqs_parameters", 10, ("sqs", "SendMessage")),
    TargetKind(parse_topic_arn, "sns_parameters", 10, ("sns", "Publish")),
    TargetKind(parse_function_arn, "lambda_parameters", 500, None),
    TargetKind(is_bus_arn, "event_bus_v2_parameters", 100, ("events", "PutEvents"), is_regional=False),
    TargetKind(lambda arn: is_universal(arn, "events"), "universal_target_parameters", 500, None, is_regional=False),
    TargetKind(is_api_destination_arn, "http_parameters", 500, ("events", "InvokeApiDestination")),
)


def find_kind(arn: str) -> TargetKind | None:
    return next((kind for kind in KINDS if kind.matches(arn)), None)


def check_target(arn: str, bus_arn: str, context: Context) -> TargetKind:
    """Returns the kind of the target. Raises InvalidInputException for a target to which Penstock cannot deliver."""
    if arn.split(":", 2)[1] != "aws":
        raise InvalidInputException("TargetArn must be in partition aws", member=TARGET)
    kind = _find_supported_kind(arn)
    if arn == bus_arn:
        raise InvalidInputException(f"{TARGET} must not reference the subscriber's own event bus", member=TARGET)
    if kind.is_regional:
        if read_region(arn) != context.region:
            raise InvalidInputException(f"TargetArn must be in region {context.region}", member=TARGET)
        _check_account("Target resource", arn, TARGET, context)
    if kind.block == "lambda_parameters":
        refusal = find_function_refusal(
            parse_function_arn(arn), arn, context.account_id, context.region, context.environment.settings
        )
        if refusal is not None:
            raise InvalidInputException(refusal, member=TARGET)
    return kind


def _find_supported_kind(arn: str) -> TargetKind:
    kind = find_kind(arn)
    if kind is None:
        raise InvalidInputException(
            f"{TARGET}: TargetArn is not a supported subscriber target. {SUPPORTED}", member=TARGET
        )
    if kind.block == "universal_target_parameters":
        _read_action(arn)
    return kind


def _read_action(arn: str) -> UniversalAction:
    try:
        return read_action(arn)
    except UniversalTargetInvalid as invalid:
        raise InvalidInputException(f"{TARGET}: {invalid}", member=TARGET) from None


def _check_account(what: str, arn: str, member: str, context: Context) -> None:
    account_id = read_account(arn)
    if account_id != context.account_id:
        raise InvalidInputException(
            f"{what} account ({account_id}) must match the subscriber account ({context.account_id})", member=member
        )


def check_parameters(invoke: UpdateInvokeConfiguration, arn: str, kind: TargetKind, context: Context) -> None:
    """Raises InvalidInputException for the role of another account, and for parameters of another kind of target."""
    _check_account("Role", invoke.role_arn, "InvokeConfiguration.RoleArn", context)
    for attribute, name in BLOCKS.items():
        if attribute != kind.block and getattr(invoke, attribute) is not None:
            raise InvalidInputException(
                f"{name} is not supported for target {arn}. Expected {BLOCKS[kind.block]}", member=name
            )
    if invoke.lambda_parameters is not None:
        _check_function(invoke.lambda_parameters)
    if kind.block == "universal_target_parameters":
        _check_universal(invoke.universal_target_parameters, arn, context)
    if invoke.http_parameters is not None:
        _check_http(invoke.http_parameters)
    _check_messages(invoke)


def _check_function(parameters: LambdaParameters) -> None:
    for name, value in (
        ("DurableExecutionName", parameters.durable_execution_name),
        ("TenantId", parameters.isolation_id),
    ):
        if value is not None:
            path = f"LambdaParameters.{name}"
            raise InvalidInputException(f"{path} is not supported: Penstock invokes plain functions.", member=path)
    if parameters.qualifier is not None and find_source(parameters.qualifier) is not None:
        path = "LambdaParameters.Qualifier"
        raise InvalidInputException(f"{path} cannot be an expression: Penstock needs a literal.", member=path)
    _check_seconds("LambdaParameters", parameters.invocation_timeout_seconds)


def _check_seconds(block: str, seconds: str | None) -> None:
    if seconds is not None and not (
        re.fullmatch("[0-9]{1,2}", seconds, re.ASCII) and 1 <= int(seconds) <= MAX_FUNCTION_SECONDS
    ):
        raise InvalidInputException(
            f"{block}.InvocationTimeoutSeconds must be 1 to {MAX_FUNCTION_SECONDS}, as a literal.", member=block
        )


def _check_universal(parameters: UniversalTargetParameters | None, arn: str, context: Context) -> None:
    """Raises InvalidInputException for an input that is not the request of the action. Only the worker knows the
    request of an expression."""
    if parameters is None:
        raise InvalidInputException(f"{UNIVERSAL} is required for target {arn}", member=UNIVERSAL)
    _check_seconds(UNIVERSAL, parameters.invocation_timeout_seconds)
    action, settings = _read_action(arn), context.environment.settings
    if find_source(parameters.input) is not None:
        if action is INVOKE and not settings.queue_lambda_endpoint:
            raise InvalidInputException(NO_FUNCTIONS, member=UNIVERSAL)
        return
    call = _read_call(action, parameters.input, context)
    if not settings.serves(read_region(call.arn)):
        raise InvalidInputException(
            f"{UNIVERSAL}.Input names {call.arn} of another installation's region", member=UNIVERSAL
        )
    function = parse_function_arn(call.arn)
    if function is not None:
        refusal = find_function_refusal(function, call.arn, context.account_id, context.region, settings)
        if refusal is not None:
            raise InvalidInputException(refusal, member=UNIVERSAL)


def _read_call(action: UniversalAction, text: str, context: Context) -> UniversalCall:
    try:
        return read_call(action, text, context)
    except UniversalTargetInvalid as invalid:
        raise InvalidInputException(f"{UNIVERSAL}.{invalid}", member=UNIVERSAL) from None


class Right(NamedTuple):
    """The action that the caller must be allowed to perform. `arn` is None for all resources."""

    service: str
    action: str
    arn: str | None


def find_right(
    arn: str, kind: TargetKind, parameters: UniversalTargetParameters | None, context: Context
) -> Right | None:
    """Returns the right to the target, or None for a function, which must belong to the caller. An expression can name
    any queue or topic."""
    if kind.action is not None:
        return Right(*kind.action, arn)
    if parameters is None or (action := _read_action(arn)) is INVOKE:
        return None
    is_expression = find_source(parameters.input) is not None
    resource = None if is_expression else _read_call(action, parameters.input, context).arn
    return Right(action.service, UNIVERSAL_RIGHTS[action], resource)


def _check_http(parameters: HttpParameters) -> None:
    if parameters.invocation_timeout_seconds is not None:
        path = "HttpParameters.InvocationTimeoutSeconds"
        raise InvalidInputException(f"{path} is not supported for API destinations.", member=path)


def _check_messages(invoke: UpdateInvokeConfiguration) -> None:
    for parameters in (invoke.sqs_parameters, invoke.sns_parameters):
        if parameters is not None:
            _check_attributes(parameters.message_attributes)
    if invoke.sqs_parameters is not None:
        _check_attributes(invoke.sqs_parameters.message_system_attributes)


def _check_attributes(attributes: dict[str, MessageAttributeValue] | None) -> None:
    for name, value in (attributes or {}).items():
        binary = value.binary_value
        if binary is not None and ("{%" in binary or "%}" in binary):
            text = f"The BinaryValue of the message attribute {name} cannot be an expression."
            raise InvalidInputException(text, member="InvokeConfiguration")


def check_batch(given: BatchConfiguration | None, kind: TargetKind) -> BatchConfiguration:
    """Returns the configuration with its defaults, which a universal target does not have. Raises InvalidInputException
    for a batch that is too large."""
    size = None if given is None else given.max_batch_size
    window = None if given is None else given.max_batch_window_in_seconds
    if kind.block == "universal_target_parameters" and (size is None or window is None):
        raise InvalidInputException(
            "BatchConfiguration with MaxBatchSize and MaxBatchWindowInSeconds is required for a universal target.",
            member="BatchConfiguration.MaxBatchSize",
        )
    if size is not None and size > kind.most:
        path = "BatchConfiguration.MaxBatchSize"
        raise InvalidInputException(f"{path} must be at most {kind.most} for this target.", member=path)
    return BatchConfiguration(size or min(DEFAULT_BATCH_SIZE, kind.most), window or 0)


def check_dead_letters(given: OnFailureConfiguration | None, context: Context) -> str | None:
    """Returns the ARN of the dead-letter queue. Raises InvalidInputException for a queue outside this installation."""
    arn = None if given is None else given.arn
    if arn is not None and (parse_queue_arn(arn) is None or not context.environment.settings.serves(read_region(arn))):
        path = "OnFailureConfiguration.Arn"
        raise InvalidInputException(f"{path} must be the ARN of a queue of this installation.", member=path)
    return arn
