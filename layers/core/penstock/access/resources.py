"""Lists the resources that a request uses, for authorization. Each row of `penstock.actions` contains the function that
lists the resources.

If a request names a resource by a text that is not an ARN, authorization checks the user's policies for the whole
account. The operation refuses a text that is not an ARN. Only a process with QUEUE_ACCESS=sigv4 imports this module.
"""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from penstock.aws.arn import is_account_id, parse_queue_arn, resolve_queue_arn
from penstock.aws.bus_arn import is_bus_arn
from penstock.aws.schedule_arn import DEFAULT_GROUP, GroupArn, schedule_arn
from penstock.aws.sns_arn import parse_application_arn, parse_endpoint_arn, parse_topic_arn, parse_topic_of_subscription
from penstock.aws.universal_target import UniversalTargetInvalid, find_resource, is_universal, read_action, read_input
from penstock.errors import AccessDenied

from .policy.requests import Principal

MAX_TASK_HANDLE_LENGTH = 1_024
# The resource for a user's policy if the request has no resource.
ANY = "*"
NO_TOKENS = (
    "This service has no roles and issues no session tokens. Use an access key that `penstock keys` created. If the "
    "request was for AWS, replace AWS_ENDPOINT_URL, which applies to every AWS service, with AWS_ENDPOINT_URL_SQS, "
    "AWS_ENDPOINT_URL_SNS and AWS_ENDPOINT_URL_SCHEDULER."
)
# The actions of a schedule on its target and dead-letter queue, by service. Targets of other services have no policies,
# so the targets must belong to the caller.
INVOKES = {"sqs": ("sqs", "SendMessage"), "sns": ("sns", "Publish"), "events": ("events", "PutEvents")}
RAW_EVENTS = ("events", "PutRawEvents")


class ResourceContext(Protocol):
    """The part of `penstock.context.Context` that resolves resources."""

    account_id: str
    region: str

    def queue_arn(self, queue_url: str, /) -> str:
        """Returns the ARN of the queue at a QueueUrl. Raises QueueDoesNotExist."""


class ActingService(NamedTuple):
    """A service that will act for the caller's resource. Policies can allow the service instead of the caller."""

    principal: Principal
    keys: dict[str, str]


class Use(NamedTuple):
    """A use of one resource by a request. Policies must allow the use.

    `is_owned`: not only the user's policies decide, but also the resource's owner and policy. `action`: the action's
    service and name, if the action differs from the request's action. `acting`: the service that will act for the
    caller. `entries`: the condition keys of each entry of the request. Policies must allow every entry.
    """

    arn: str
    is_owned: bool = True
    action: tuple[str, str] | None = None
    acting: ActingService | None = None
    entries: Sequence[Mapping[str, str]] = ()


Uses = Iterable[Use]
ACCOUNT_USE = Use(ANY, is_owned=False)
PHONE_USE = Use(ANY, is_owned=False, action=("penstock", "PublishToPhoneNumber"))
REPLAY = ("penstock", "ReplayEvents")
"""The right to read events or messages from the past, by a subscriber of a bus or by a ReplayPolicy."""


# --- every service ---------------------------------------------------------------------------------------------------
def use_account(_: object, __: ResourceContext) -> Uses:
    """Returns the caller's account, because the action uses no resource."""
    return (ACCOUNT_USE,)


def use_nothing(_: object, __: ResourceContext) -> Uses:
    """Returns no resources, because the action needs no permission."""
    return ()


def refuse_tokens(_: object, __: ResourceContext) -> Uses:
    """Raises AccessDenied: Penstock issues no session tokens."""
    raise AccessDenied(NO_TOKENS)


# --- SQS -------------------------------------------------------------------------------------------------------------
class _WithQueueName(Protocol):
    queue_name: str


class _WithQueueOwner(_WithQueueName, Protocol):
    queue_owner_aws_account_id: str | None


class _WithQueueUrl(Protocol):
    queue_url: str


class _WithSourceArn(Protocol):
    source_arn: str


class _WithDestinationArn(_WithSourceArn, Protocol):
    destination_arn: str | None


class _WithTaskHandle(Protocol):
    task_handle: str


def use_new_queue(request: _WithQueueName, context: ResourceContext) -> Uses:
    return (_use_new("sqs", request.queue_name, context),)


def use_queue(request: _WithQueueUrl, context: ResourceContext) -> Uses:
    """Returns the queue at a QueueUrl. Raises QueueDoesNotExist."""
    return (Use(context.queue_arn(request.queue_url)),)


def use_queue_of_owner(request: _WithQueueOwner, context: ResourceContext) -> Uses:
    """Returns the queue with this name in the named account, or otherwise in the caller's account."""
    owner = request.queue_owner_aws_account_id or context.account_id
    arn = resolve_queue_arn(context.region, owner, request.queue_name) if is_account_id(owner) else None
    return (ACCOUNT_USE,) if arn is None else (Use(arn),)


def use_source(request: _WithSourceArn, _: ResourceContext) -> Uses:
    """Returns the source queue of a message move task."""
    return (_use_queue_arn(request.source_arn),)


def use_source_and_destination(request: _WithDestinationArn, context: ResourceContext) -> Uses:
    """Returns the source of a message move task, and the destination if the request names one."""
    uses = list(use_source(request, context))
    destination = request.destination_arn
    if destination and parse_queue_arn(destination) is not None:
        uses.append(Use(destination, action=("sqs", "SendMessage")))
    return uses


def use_source_of_task(request: _WithTaskHandle, _: ResourceContext) -> Uses:
    """Returns the source queue in a message move task's handle (base64 of JSON)."""
    try:
        document = msgspec.json.decode(b64decode(request.task_handle[:MAX_TASK_HANDLE_LENGTH], validate=True))
    except (ValueError, msgspec.DecodeError, RecursionError):
        document = None
    return (_use_queue_arn(str(document.get("sourceArn", "")) if isinstance(document, dict) else ""),)


def _use_queue_arn(arn: str) -> Use:
    parsed = parse_queue_arn(arn)
    return ACCOUNT_USE if parsed is None else Use(str(parsed))


def _use_new(service: str, name: str, context: ResourceContext) -> Use:
    return Use(build_arn(service, name, context), is_owned=False)


def build_arn(service: str, name: str, context: ResourceContext) -> str:
    """Returns the ARN of a queue or topic, even if the name is invalid or the resource does not exist."""
    return f"arn:aws:{service}:{context.region}:{context.account_id}:{name}"


# --- SNS -------------------------------------------------------------------------------------------------------------
class _WithName(Protocol):
    name: str


class _WithPlatform(_WithName, Protocol):
    platform: str


class _WithTopicArn(Protocol):
    topic_arn: str


class _WithResourceArn(Protocol):
    resource_arn: str


class _WithSubscriptionArn(Protocol):
    subscription_arn: str | None


class _WithApplicationArn(Protocol):
    platform_application_arn: str


class _WithEndpointArn(Protocol):
    endpoint_arn: str


class _NewSubscription(_WithTopicArn, Protocol):
    protocol: str
    attributes: Mapping[str, str] | None


class _ChangedSubscription(_WithSubscriptionArn, Protocol):
    attribute_name: str


class _Publication(Protocol):
    topic_arn: str | None
    target_arn: str | None
    phone_number: str | None


def use_new_topic(request: _WithName, context: ResourceContext) -> Uses:
    return (_use_new("sns", request.name, context),)


def use_new_application(request: _WithPlatform, context: ResourceContext) -> Uses:
    return (_use_new("sns", f"app/{request.platform}/{request.name}", context),)


def use_topic(request: _WithTopicArn, _: ResourceContext) -> Uses:
    return _use_if(request.topic_arn, is_known=parse_topic_arn(request.topic_arn) is not None)


def use_subscribed_topic(request: _NewSubscription, _: ResourceContext) -> Uses:
    """Returns the topic. Also returns the permission to send to a phone number for text messages, and the right to
    replay for a ReplayPolicy."""
    uses = list(_use_if(request.topic_arn, is_known=parse_topic_arn(request.topic_arn) is not None))
    if request.protocol == "sms":
        uses.append(PHONE_USE)
    if "ReplayPolicy" in (request.attributes or {}):
        uses.append(Use(request.topic_arn, is_owned=False, action=REPLAY))
    return uses


def use_phone(_: object, __: ResourceContext) -> Uses:
    """Returns the account and the permission to send to a phone number, because the action sends a text message."""
    return (ACCOUNT_USE, PHONE_USE)


def use_tagged_topic(request: _WithResourceArn, _: ResourceContext) -> Uses:
    return _use_if(request.resource_arn, is_known=parse_topic_arn(request.resource_arn) is not None)


def use_subscription(request: _WithSubscriptionArn, _: ResourceContext) -> Uses:
    arn = request.subscription_arn or ""
    return _use_if(arn, is_known=parse_topic_of_subscription(arn) is not None)


def use_changed_subscription(request: _ChangedSubscription, context: ResourceContext) -> Uses:
    """Returns the subscription, and for a ReplayPolicy the right to replay the messages of its topic."""
    uses = list(use_subscription(request, context))
    if request.attribute_name == "ReplayPolicy":
        topic = parse_topic_of_subscription(request.subscription_arn or "")
        uses.append(Use(ANY if topic is None else str(topic), is_owned=False, action=REPLAY))
    return uses


def use_application(request: _WithApplicationArn, _: ResourceContext) -> Uses:
    """Returns the platform application. Applications have no policies, so only the account that owns an application can
    use it."""
    arn = request.platform_application_arn
    return _use_if(arn, is_known=parse_application_arn(arn) is not None)


def use_endpoint(request: _WithEndpointArn, _: ResourceContext) -> Uses:
    """Returns the endpoint of a mobile app. Endpoints have no policies, so only the account that owns an endpoint can
    use it."""
    return _use_if(request.endpoint_arn, is_known=parse_endpoint_arn(request.endpoint_arn) is not None)


def use_publication_target(request: _Publication, _: ResourceContext) -> Uses:
    """Returns the topic or endpoint that receives the message, or the permission to send to a phone number."""
    topic, target = request.topic_arn or "", request.target_arn or ""
    if parse_topic_arn(topic) is not None:
        uses = [Use(topic)]
    elif parse_topic_arn(target) is not None or parse_endpoint_arn(target) is not None:
        uses = [Use(target)]
    else:
        uses = [ACCOUNT_USE]
    if request.phone_number is not None:
        uses.append(PHONE_USE)
    return uses


def _use_if(arn: str, *, is_known: bool) -> Uses:
    return (Use(arn) if is_known else ACCOUNT_USE,)


# --- EventBridge Scheduler -------------------------------------------------------------------------------------------
class _WithGroupName(Protocol):
    group_name: str | None


class _WithScheduleName(_WithName, _WithGroupName, Protocol):
    pass


class _DeadLetterConfig(Protocol):
    @property
    def arn(self) -> str | None: ...


class _Target(Protocol):
    @property
    def arn(self) -> str: ...

    @property
    def input(self) -> str | None: ...

    @property
    def dead_letter_config(self) -> _DeadLetterConfig | None: ...

    @property
    def event_bridge_put_raw_events_parameters(self) -> object: ...


class _WithTarget(_WithScheduleName, Protocol):
    @property
    def target(self) -> _Target: ...


def use_schedule(request: _WithScheduleName, context: ResourceContext) -> Uses:
    """Returns a schedule of the named group or the default group."""
    return (_use_schedule(request.name, request.group_name, context),)


def use_schedules(request: _WithGroupName, context: ResourceContext) -> Uses:
    """Returns all schedules of the named group or the default group."""
    return (_use_schedule(ANY, request.group_name, context),)


def use_schedule_and_target(request: _WithTarget, context: ResourceContext) -> Iterator[Use]:
    """Returns a schedule, its target and its dead-letter queue.

    Raises AccessDenied for a target of another service in another account.
    """
    schedule = _use_schedule(request.name, request.group_name, context)
    yield schedule
    keys = {
        "aws:sourcearn": schedule.arn,
        "aws:sourceaccount": context.account_id,
        "aws:securetransport": "true",  # the message does not leave the database
    }
    acting = ActingService(Principal(None, None, "scheduler.amazonaws.com"), keys)
    is_raw = request.target.event_bridge_put_raw_events_parameters is not None
    for arn in list_invoked_arns(request.target, context):
        _, _, service, _, account_id, *_ = arn.split(":")
        if service in INVOKES:
            action = RAW_EVENTS if service == "events" and is_raw else INVOKES[service]
            yield Use(arn, action=action, acting=acting)
        elif account_id != context.account_id:
            raise AccessDenied(f"Access to the resource {arn} is denied.")


def use_group(request: _WithName, context: ResourceContext) -> Uses:
    return (_use_group(request.name, context),)


def use_groups(_: object, context: ResourceContext) -> Uses:
    return (_use_group(ANY, context),)


def use_tagged_group(request: _WithResourceArn, _: ResourceContext) -> Uses:
    return (Use(request.resource_arn, is_owned=False),)


def list_invoked_arns(target: _Target, context: ResourceContext) -> list[str]:
    """Returns the ARNs of a schedule's target and dead-letter queue. A universal target has its resource in its input.
    The operation refuses texts that are not ARNs, and inputs that are not requests."""
    dead_letters = None if target.dead_letter_config is None else target.dead_letter_config.arn
    arn = find_called_resource(target, context) if is_universal(target.arn, "scheduler") else target.arn
    return [each for each in (arn, dead_letters) if each is not None and is_invoked_arn(each)]


def find_called_resource(target: _Target, context: ResourceContext) -> str | None:
    try:
        action = read_action(target.arn)
        return find_resource(action, read_input(action, target.input or ""), context)
    except UniversalTargetInvalid:
        return None


def is_invoked_arn(arn: str) -> bool:
    is_known = parse_queue_arn(arn) is not None or parse_topic_arn(arn) is not None or is_bus_arn(arn)
    return is_known or is_other_arn(arn)


def is_other_arn(text: str) -> bool:
    """Returns whether the text is an ARN of a service other than those in INVOKES."""
    parts = text.split(":", 5)
    return len(parts) == 6 and parts[0] == "arn" and parts[2] not in INVOKES


def _use_schedule(name: str, group: str | None, context: ResourceContext) -> Use:
    arn = schedule_arn(context.region, context.account_id, group or DEFAULT_GROUP, name)
    return Use(arn, is_owned=False)


def _use_group(name: str, context: ResourceContext) -> Use:
    return Use(str(GroupArn(context.region, context.account_id, name)), is_owned=False)


# --- Lambda ----------------------------------------------------------------------------------------------------------
class _WithUuid(Protocol):
    uuid: str


class _WithResource(Protocol):
    resource: str


def use_mapping(request: _WithUuid, context: ResourceContext) -> Uses:
    """Returns the event source mapping. The operations check the mapping's queue."""
    return (_use_mapping(request.uuid, context),)


def use_mappings(_: object, context: ResourceContext) -> Uses:
    """Returns all event source mappings of the account. The operations check the queue of a new mapping."""
    return (_use_mapping(ANY, context),)


def use_tagged_mapping(request: _WithResource, _: ResourceContext) -> Uses:
    return (Use(request.resource, is_owned=False),)


def _use_mapping(mapping_id: str, context: ResourceContext) -> Use:
    return Use(build_mapping_arn(mapping_id, context), is_owned=False)


def build_mapping_arn(mapping_id: str, context: ResourceContext) -> str:
    return f"arn:aws:lambda:{context.region}:{context.account_id}:event-source-mapping:{mapping_id}"
