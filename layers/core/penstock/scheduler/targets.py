"""Validates targets of EventBridge Scheduler, which can be a queue (SendMessage), a topic (Publish), a Lambda function
(Invoke), an event bus (PutEvents or PutRawEvents), or a universal target that calls one of the first three actions.

AWS checks a target at the invocation. Penstock checks the ARN and the parameters when a client sets the target, because
it cannot invoke targets of other kinds. The queue or topic does not have to exist yet, as on AWS. The texts of
constraints are Penstock's.
"""

from msgspec.structs import replace

from penstock.access.functions import find_function_refusal
from penstock.aws.arn import parse_queue_arn, read_region
from penstock.aws.bus_arn import is_bus_arn
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.function_arn import parse_function_arn
from penstock.aws.json_text import decode_json
from penstock.aws.sns_arn import parse_topic_arn
from penstock.aws.universal_target import UniversalTargetInvalid, is_universal, read_action
from penstock.context import Context
from penstock.errors import AwsError
from penstock.events.publishing import EntryError
from penstock.limits.queue_limits import MAX_MESSAGE_BYTES
from penstock.settings import Settings
from penstock.sqs import validation
from penstock.universal_calls import InvokeRequest, read_call

from .bus_events import build_bus_event
from .errors import ValidationException
from .types import RetryPolicy, Target

# AWS's defaults for a schedule without a retry policy (Target and RetryPolicy, API reference).
EVENT_AGE_SECONDS = 86_400
RETRY_ATTEMPTS = 185

UNSUPPORTED_PARAMETERS = (
    "ecs_parameters",
    "event_bridge_parameters",
    "kinesis_parameters",
    "sage_maker_pipeline_parameters",
)


def check_target(target: Target, context: Context) -> Target:
    """Returns the target to store, with a complete retry policy. Raises ValidationException."""
    given = [name for name in UNSUPPORTED_PARAMETERS if getattr(target, name) is not None]
    if given:
        path = f"target.{_convert_to_camel(given[0])}"
        raise ValidationException.of_member("{…}", path, "be null", SUPPORTED_TARGETS)
    group_id = None if target.sqs_parameters is None else target.sqs_parameters.message_group_id
    if group_id is not None and not validation.is_group_id(group_id):
        raise ValidationException.of_member(group_id, GROUP_ID, "satisfy regular expression pattern: [!-~]{1,128}")
    _check_input(target.input)
    if is_bus_arn(target.arn):
        _check_bus(target, context)
    else:
        _check_without_event_parameters(target)
        _check_parameters(target, group_id, context)
    _check_dead_letters(target)
    _check_regions(target, context.environment.settings)
    return replace(target, retry_policy=fill_in_retry_policy(target.retry_policy))


INPUT = "target.input"
GROUP_ID = "target.sqsParameters.messageGroupId"
SUPPORTED_TARGETS = (
    "Penstock invokes Amazon SQS queues, Amazon SNS topics, AWS Lambda functions, custom event buses and the universal "
    "targets sqs:sendMessage, sns:publish and lambda:invoke."
)
CALLED = "be an API action that Penstock calls: sqs:sendMessage, sns:publish or lambda:invoke"
EVENT_PARAMETERS = ("event_bridge_put_events_v2_parameters", "event_bridge_put_raw_events_parameters")
MAX_INPUT_BYTES = MAX_MESSAGE_BYTES
"""The maximum size of a message, an event of a bus, and the event of an asynchronous invocation ("Lambda quotas",
https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""


def _check_parameters(target: Target, group_id: str | None, context: Context) -> None:
    if is_universal(target.arn, "scheduler"):
        _check_universal(target, group_id, context)
    elif parse_queue_arn(target.arn) is not None:
        _check_queue(target.arn, group_id)
    elif parse_function_arn(target.arn) is not None:
        _check_function(target, group_id, context)
    else:
        _check_topic(target, group_id)


def _check_bus(target: Target, context: Context) -> None:
    """Raises ValidationException for an event that the bus would refuse."""
    events, raw = (getattr(target, name) for name in EVENT_PARAMETERS)
    if (events is None) == (raw is None):
        shown, constraint = (None, "not be null") if raw is None else ("{…}", "be null")
        path = f"target.{_convert_to_camel(EVENT_PARAMETERS[0])}"
        raise ValidationException.of_member(shown, path, constraint, "A bus requires parameters of one action.")
    if target.sqs_parameters is not None:
        raise ValidationException.of_member("{…}", "target.sqsParameters", "be null", "The target is an event bus.")
    try:
        build_bus_event(target, "{}" if target.input is None else target.input, context)
    except (EntryError, AwsError) as error:
        reason = error.message if isinstance(error, AwsError) else str(error)
        raise ValidationException.of_member("{…}", "target", "be an event that the bus accepts", reason) from error


def _check_without_event_parameters(target: Target) -> None:
    for name in EVENT_PARAMETERS:
        if getattr(target, name) is not None:
            path = f"target.{_convert_to_camel(name)}"
            raise ValidationException.of_member("{…}", path, "be null", "The target is not a custom event bus.")


def _check_universal(target: Target, group_id: str | None, context: Context) -> None:
    """Raises ValidationException for an action that Penstock cannot call, and for an Input that is not its request."""
    if group_id is not None:
        raise ValidationException.of_member(group_id, GROUP_ID, "be null", "The target is universal.")
    try:
        action = read_action(target.arn)
    except UniversalTargetInvalid as invalid:
        raise ValidationException.of_member(target.arn, "target.arn", CALLED, str(invalid)) from None
    if target.input is None:
        raise ValidationException.of_member(None, INPUT, "not be null", "The target is universal.")
    try:
        call = read_call(action, target.input, context)
    except UniversalTargetInvalid as invalid:
        constraint = f"be a request of {action.label} with {' and '.join(action.required)}"
        raise ValidationException.of_member("…", INPUT, constraint, str(invalid)) from None
    if not context.environment.settings.serves(read_region(call.arn)):
        raise _build_region_error(call.arn, INPUT, context.environment.settings)
    if isinstance(call.request, InvokeRequest):
        _check_listed(call.arn, INPUT, context)
        if call.request.invocation_type != "Event":
            detail = "Penstock invokes functions of schedules asynchronously: set InvocationType to Event."
            raise ValidationException.of_member("…", INPUT, "have the InvocationType Event", detail)


def _check_queue(arn: str, group_id: str | None) -> None:
    if is_fifo_name(arn) and group_id is None:
        raise ValidationException.of_member(None, GROUP_ID, "not be null", "The target is a FIFO queue.")


def _check_listed(arn: str, path: str, context: Context) -> None:
    settings = context.environment.settings
    refusal = find_function_refusal(parse_function_arn(arn), arn, context.account_id, context.region, settings)
    if refusal is not None:
        constraint = "be a function of the caller's account and region that this installation may invoke"
        raise ValidationException.of_member(arn, path, constraint, refusal)


def _check_function(target: Target, group_id: str | None, context: Context) -> None:
    _check_listed(target.arn, "target.arn", context)
    if group_id is not None:
        raise ValidationException.of_member(group_id, GROUP_ID, "be null", "The target is a function.")
    if target.input is not None and not _is_json(target.input):
        raise ValidationException.of_member("…", INPUT, "be JSON", "The target is a function.")


def _is_json(text: str) -> bool:
    try:
        decode_json(text)
    except (ValueError, RecursionError):
        return False
    return True


def _check_topic(target: Target, group_id: str | None) -> None:
    """Raises ValidationException for a FIFO topic without a group in SqsParameters.

    The check is Penstock's extension. On AWS, invocations of such a target always fail.
    """
    topic = parse_topic_arn(target.arn)
    if topic is None:
        constraint = "be the ARN of a queue, a topic, a function, an event bus or a universal target"
        raise ValidationException.of_member(target.arn, "target.arn", constraint, SUPPORTED_TARGETS)
    if topic.fifo != (group_id is not None):
        constraint = "not be null" if topic.fifo else "be null"
        raise ValidationException.of_member(group_id, GROUP_ID, constraint, "FIFO topics require it, others refuse it.")


def _check_dead_letters(target: Target) -> None:
    """Raises ValidationException for a dead-letter queue that no message could reach."""
    arn = None if target.dead_letter_config is None else target.dead_letter_config.arn
    if arn is not None and parse_queue_arn(arn) is None:
        raise ValidationException.of_member(arn, "target.deadLetterConfig.arn", "be the ARN of a queue")


def _check_regions(target: Target, settings: Settings) -> None:
    """Raises ValidationException for a region outside QUEUE_REGIONS, because that region belongs to another
    installation."""
    dead_letters = None if target.dead_letter_config is None else target.dead_letter_config.arn
    for path, arn in (("target.arn", target.arn), ("target.deadLetterConfig.arn", dead_letters)):
        is_regional = arn is not None and not is_universal(arn, "scheduler")
        if arn is not None and is_regional and not settings.serves(read_region(arn)):
            raise _build_region_error(arn, path, settings)


def _build_region_error(arn: str, path: str, settings: Settings) -> ValidationException:
    return ValidationException.of_member(
        arn,
        path,
        "be in a region of this installation",
        f"This installation serves these regions (QUEUE_REGIONS): {settings.queue_regions}.",
    )


def _check_input(text: str | None) -> None:
    if text is None:
        return
    data = validation.encode_text(text)
    if data is None:
        raise ValidationException.of_member("…", INPUT, "have only characters that a message can have")
    if len(data) > MAX_INPUT_BYTES:
        raise ValidationException.of_member("…", INPUT, f"have length less than or equal to {MAX_INPUT_BYTES}")


def fill_in_retry_policy(policy: RetryPolicy | None) -> RetryPolicy:
    """Returns the retry policy with AWS's defaults for missing members."""
    age = None if policy is None else policy.maximum_event_age_in_seconds
    attempts = None if policy is None else policy.maximum_retry_attempts
    return RetryPolicy(
        maximum_event_age_in_seconds=EVENT_AGE_SECONDS if age is None else age,
        maximum_retry_attempts=RETRY_ATTEMPTS if attempts is None else attempts,
    )


def _convert_to_camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
