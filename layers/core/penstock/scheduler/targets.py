"""Validates targets of EventBridge Scheduler, which can be a queue (SendMessage), a topic (Publish), or a Lambda
function (Invoke).

AWS checks a target at the invocation. Penstock checks the ARN and the parameters when a client sets the target, because
it cannot invoke targets of other kinds. The queue or topic does not have to exist yet, as on AWS. The texts of
constraints are Penstock's.
"""

from msgspec.structs import replace

from penstock.access.functions import find_function_refusal
from penstock.aws.arn import parse_queue_arn, read_region
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.function_arn import parse_function_arn
from penstock.aws.json_text import decode_json
from penstock.aws.sns_arn import parse_topic_arn
from penstock.limits.queue_limits import MAX_MESSAGE_BYTES
from penstock.settings import Settings
from penstock.sqs import validation

from .errors import ValidationException
from .types import RetryPolicy, Target

# AWS's defaults for a schedule without a retry policy (Target and RetryPolicy, API reference).
EVENT_AGE_SECONDS = 86_400
RETRY_ATTEMPTS = 185

UNSUPPORTED_PARAMETERS = (
    "ecs_parameters",
    "event_bridge_parameters",
    "event_bridge_put_events_v2_parameters",
    "event_bridge_put_raw_events_parameters",
    "kinesis_parameters",
    "sage_maker_pipeline_parameters",
)


def check_target(target: Target, account_id: str, region: str, settings: Settings) -> Target:
    """Returns the target to store, with a complete retry policy. Raises ValidationException."""
    given = [name for name in UNSUPPORTED_PARAMETERS if getattr(target, name) is not None]
    if given:
        raise ValidationException.member("{…}", f"target.{_convert_to_camel(given[0])}", "be null", SUPPORTED_TARGETS)
    group_id = None if target.sqs_parameters is None else target.sqs_parameters.message_group_id
    if group_id is not None and not validation.is_group_id(group_id):
        raise ValidationException.member(group_id, GROUP_ID, "satisfy regular expression pattern: [!-~]{1,128}")
    if parse_queue_arn(target.arn) is not None:
        _check_queue(target.arn, group_id)
        _check_input(target.input, MAX_MESSAGE_BYTES)
    elif parse_function_arn(target.arn) is not None:
        _check_function(target, group_id, account_id, region, settings)
        _check_input(target.input, FUNCTION_BYTES)
    else:
        _check_topic(target, group_id)
        _check_input(target.input, MAX_MESSAGE_BYTES)
    _check_dead_letters(target)
    _check_regions(target, settings)
    return replace(target, retry_policy=fill_in_retry_policy(target.retry_policy))


INPUT = "target.input"
GROUP_ID = "target.sqsParameters.messageGroupId"
SUPPORTED_TARGETS = "Penstock invokes Amazon SQS queues, Amazon SNS topics and AWS Lambda functions."
FUNCTION_BYTES = 1_048_576
"""The maximum size of an asynchronous invocation's event ("Lambda quotas",
https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""


def _check_queue(arn: str, group_id: str | None) -> None:
    if is_fifo_name(arn) and group_id is None:
        raise ValidationException.member(None, GROUP_ID, "not be null", "The target is a FIFO queue.")


def _check_function(target: Target, group_id: str | None, account_id: str, region: str, settings: Settings) -> None:
    function = parse_function_arn(target.arn)
    refusal = find_function_refusal(function, target.arn, account_id, region, settings)
    if refusal is not None:
        constraint = "be a function of the caller's account and region that this installation may invoke"
        raise ValidationException.member(target.arn, "target.arn", constraint, refusal)
    if group_id is not None:
        raise ValidationException.member(group_id, GROUP_ID, "be null", "The target is a function.")
    if target.input is not None and not _is_json(target.input):
        raise ValidationException.member("…", INPUT, "be JSON", "The target is a function.")


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
        constraint = "be the ARN of a queue, a topic or a function"
        raise ValidationException.member(target.arn, "target.arn", constraint, SUPPORTED_TARGETS)
    if topic.fifo != (group_id is not None):
        constraint = "not be null" if topic.fifo else "be null"
        raise ValidationException.member(group_id, GROUP_ID, constraint, "FIFO topics require it, others refuse it.")


def _check_dead_letters(target: Target) -> None:
    """Raises ValidationException for a dead-letter queue that no message could reach."""
    arn = None if target.dead_letter_config is None else target.dead_letter_config.arn
    if arn is not None and parse_queue_arn(arn) is None:
        raise ValidationException.member(arn, "target.deadLetterConfig.arn", "be the ARN of a queue")


def _check_regions(target: Target, settings: Settings) -> None:
    """Raises ValidationException for a region outside QUEUE_REGIONS, because that region belongs to another
    installation."""
    dead_letters = None if target.dead_letter_config is None else target.dead_letter_config.arn
    for path, arn in (("target.arn", target.arn), ("target.deadLetterConfig.arn", dead_letters)):
        if arn is not None and not settings.serves(read_region(arn)):
            raise ValidationException.member(
                arn,
                path,
                "be in a region of this installation",
                f"This installation serves these regions (QUEUE_REGIONS): {settings.queue_regions}.",
            )


def _check_input(text: str | None, most_bytes: int) -> None:
    if text is None:
        return
    data = validation.encode_text(text)
    if data is None:
        raise ValidationException.member("…", INPUT, "have only characters that a message can have")
    if len(data) > most_bytes:
        raise ValidationException.member("…", INPUT, f"have length less than or equal to {most_bytes}")


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
