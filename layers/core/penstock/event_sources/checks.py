"""Validates a mapping against limits that depend on its queue or on several members.

Sources: "CreateEventSourceMapping" (AWS Lambda API reference); "Creating and configuring an Amazon SQS event source
mapping", https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html; "Control which events Lambda sends
to your function", https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html (five filters a mapping).
If AWS publishes no text for an error, Penstock chose the text.
"""

from collections.abc import Mapping

from msgspec.structs import fields

from penstock.aws.arn import QueueArn, parse_queue_arn
from penstock.aws.codec.errors import UnknownOperationException
from penstock.context import Context
from penstock.errors import KMS_KEYS_REFUSED
from penstock.http import HttpRequest
from penstock.settings import Settings

from .errors import InvalidParameterValueException
from .types import MAX_PATTERN_LENGTH, ChangeRequest, Options, ProvisionedPollerConfig

MAX_FILTERS = 5
DEFAULT_BATCH = 10
MAX_FIFO_BATCH = 10
MAX_WITHOUT_WINDOW = 10
MAX_TAGS = 50
LEAST_POLLERS = 2
WINDOW = "MaximumBatchingWindowInSeconds"

_OFFERED = frozenset(
    (*Options.__struct_fields__, "destination_config", "enabled", "function_name", "event_source_arn", "tags", "uuid")
)


def polls_mappings(http: HttpRequest, settings: Settings) -> bool:
    """Returns whether the deployment polls for mappings. The container always polls. On Lambda the setting
    QUEUE_LAMBDA_MAPPINGS determines whether the deployment polls."""
    return http.response_limit is None or settings.queue_lambda_mappings


def check_served(context: Context) -> None:
    """Raises UnknownOperationException in a deployment that does not poll for event source mappings."""
    if not polls_mappings(context.http, context.environment.settings):
        raise UnknownOperationException(
            "This deployment does not poll for event source mappings (QUEUE_LAMBDA_MAPPINGS is off)."
        )


def read_source(arn: str | None) -> QueueArn:
    """Returns the queue of an EventSourceArn. Raises InvalidParameterValueException."""
    queue = parse_queue_arn(arn or "")
    if queue is None:
        is_other = (arn or "").startswith("arn:")
        raise InvalidParameterValueException(
            "EventSourceArn must be the ARN of a queue." if is_other else "Unrecognized event source.",
            member="EventSourceArn",
        )
    return queue


def check_key(options: Options, settings: Settings) -> None:
    """Raises InvalidParameterValueException for a KMS key if QUEUE_REFUSE_KMS is on."""
    if settings.queue_refuse_kms and options.kms_key_arn:
        raise InvalidParameterValueException(KMS_KEYS_REFUSED, member="KMSKeyArn")


def check_members(request: ChangeRequest) -> None:
    """Raises InvalidParameterValueException for a member that queues or Penstock do not support."""
    if request.destination_config:
        raise InvalidParameterValueException(
            "Unsupported DestinationConfig parameter for given event source mapping type.", member="DestinationConfig"
        )
    for member in fields(request):
        if member.name not in _OFFERED and getattr(request, member.name) is not None:
            name = member.encode_name
            raise InvalidParameterValueException(f"{name} is not supported for mappings of queues.", member=name)


def check_pattern(text: str) -> None:
    """Raises InvalidParameterValueException for a filter whose pattern is too long."""
    if len(text) > MAX_PATTERN_LENGTH:
        raise InvalidParameterValueException(
            f"A filter has at most {MAX_PATTERN_LENGTH} characters.", member="FilterCriteria"
        )


def check_options(options: Options, *, fifo: bool) -> None:
    """Raises InvalidParameterValueException."""
    size, window = options.batch_size or DEFAULT_BATCH, options.maximum_batching_window_in_seconds or 0
    if fifo and size > MAX_FIFO_BATCH:
        raise InvalidParameterValueException(
            f"BatchSize of a FIFO queue must be less than or equal to {MAX_FIFO_BATCH}.", member="BatchSize"
        )
    if fifo and window:
        raise InvalidParameterValueException("Batching window is not supported for FIFO queues", member=WINDOW)
    if size > MAX_WITHOUT_WINDOW and not window:
        raise InvalidParameterValueException(
            "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10",
            member=WINDOW,
        )
    check_pollers(options.provisioned_poller_config or ProvisionedPollerConfig())
    criteria = options.filter_criteria
    if criteria is not None and len(criteria.filters or ()) > MAX_FILTERS:
        raise InvalidParameterValueException(f"A mapping has at most {MAX_FILTERS} filters.", member="FilterCriteria")


def check_pollers(config: ProvisionedPollerConfig) -> None:
    """Raises InvalidParameterValueException for a provisioned mode that a queue's mapping cannot have.

    Source: "ProvisionedPollerConfig" (AWS Lambda API reference),
    https://docs.aws.amazon.com/lambda/latest/api/API_ProvisionedPollerConfig.html. The model and the reference state
    the maxima.
    """
    least, most = config.minimum_pollers, config.maximum_pollers
    for name, number in (("MinimumPollers", least), ("MaximumPollers", most)):
        if number is not None and number < LEAST_POLLERS:
            raise InvalidParameterValueException(f"{name} of a queue's mapping is at least {LEAST_POLLERS}.")
    if least is not None and most is not None and least > most:
        raise InvalidParameterValueException("MinimumPollers must not be greater than MaximumPollers.")
    if config.poller_group_name:
        raise InvalidParameterValueException("PollerGroupName does not apply to a queue's mapping.")


def check_tags(tags: Mapping[str, str]) -> None:
    """Raises InvalidParameterValueException for tags that AWS does not allow ("Tag your Lambda functions", AWS Lambda
    Developer Guide)."""
    for key, value in tags.items():
        if not 1 <= len(key) <= 128 or len(value) > 256 or key.lower().startswith("aws:") or "\0" in key + value:
            raise InvalidParameterValueException(
                "A tag's key has 1 to 128 characters and does not begin with aws:. A tag's value has at most 256 "
                "characters. Keys and values do not contain NUL characters."
            )
    if len(tags) > MAX_TAGS:
        raise build_tag_limit_error()


def build_tag_limit_error() -> InvalidParameterValueException:
    """Returns the error for too many tags of a mapping."""
    return InvalidParameterValueException(f"A mapping has at most {MAX_TAGS} tags.")
