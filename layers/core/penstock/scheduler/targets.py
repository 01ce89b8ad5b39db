"""What a schedule of EventBridge Scheduler may invoke: a queue (SendMessage) or a topic (Publish) of the installation.

AWS checks a target when it invokes it. Penstock checks its ARN and parameters when a client sets it, since it can
invoke no other targets. It does not check whether the queue or topic exists: on AWS too a schedule may be made before
its target. Texts of errors are ours.
"""

from msgspec.structs import replace

from penstock.aws.arn import parse_queue_arn
from penstock.aws.topic_arn import parse_topic_arn
from penstock.settings import Settings
from penstock.sns.publish import MOST_BYTES as TOPIC_BYTES
from penstock.sqs import validation

from .errors import ValidationException
from .types import RetryPolicy, Target

# AWS's defaults of a schedule that was made without them (Target and RetryPolicy, API reference).
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


def checked(target: Target, settings: Settings) -> Target:
    """The target as it is stored, with a complete retry policy. Raises ValidationException."""
    given = [name for name in UNSUPPORTED_PARAMETERS if getattr(target, name) is not None]
    if given:
        raise ValidationException(
            f"{_pascal(given[0])} is not for a target that Penstock invokes. {SUPPORTED_TARGETS}"
        )
    group_id = None if target.sqs_parameters is None else target.sqs_parameters.message_group_id
    if group_id is not None and not validation.is_group_id(group_id):
        raise ValidationException("SqsParameters.MessageGroupId must be letters, digits and punctuation.")
    if parse_queue_arn(target.arn) is not None:
        _check_queue(target.arn, group_id)
        _check_input(target.input, validation.MAXIMUM_MESSAGE_BYTES)
    else:
        _check_topic(target, group_id)
        _check_input(target.input, TOPIC_BYTES)
    _check_regions(target, settings)
    return replace(target, retry_policy=filled_in(target.retry_policy))


SUPPORTED_TARGETS = "Penstock invokes Amazon SQS queues and Amazon SNS topics."


def _check_queue(arn: str, group_id: str | None) -> None:
    if arn.endswith(".fifo") and group_id is None:
        raise ValidationException("SqsParameters.MessageGroupId is required for a FIFO queue.")


def _check_topic(target: Target, group_id: str | None) -> None:
    """A FIFO topic needs a message group, from SqsParameters: our extension, as on AWS such a target always fails."""
    topic = parse_topic_arn(target.arn)
    if topic is None:
        raise ValidationException(f"Target {target.arn[:256]} is not supported. {SUPPORTED_TARGETS}")
    if topic.fifo != (group_id is not None):
        raise ValidationException(
            "SqsParameters.MessageGroupId is for queues and for FIFO topics, which require it."
        )


def _check_regions(target: Target, settings: Settings) -> None:
    """What QUEUE_REGIONS lacks is in another installation, which this one does not call."""
    dead_letters = None if target.dead_letter_config is None else target.dead_letter_config.arn
    for arn in (target.arn, dead_letters):
        if arn is not None and not settings.serves(arn.split(":")[3]):
            raise ValidationException(
                f"{arn[:256]} is in another region. The setting QUEUE_REGIONS has those that this installation "
                f"serves: {settings.queue_regions}."
            )


def _check_input(text: str | None, most_bytes: int) -> None:
    if text is None:
        return
    data = validation.encoded(text)
    if data is None:
        raise ValidationException("Target.Input has characters that no message can have.")
    if len(data) > most_bytes:
        raise ValidationException(f"Target.Input is longer than {most_bytes} bytes.")


def filled_in(policy: RetryPolicy | None) -> RetryPolicy:
    """The retry policy with AWS's defaults for members that the request lacks."""
    age = None if policy is None else policy.maximum_event_age_in_seconds
    attempts = None if policy is None else policy.maximum_retry_attempts
    return RetryPolicy(
        maximum_event_age_in_seconds=EVENT_AGE_SECONDS if age is None else age,
        maximum_retry_attempts=RETRY_ATTEMPTS if attempts is None else attempts,
    )


def _pascal(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
