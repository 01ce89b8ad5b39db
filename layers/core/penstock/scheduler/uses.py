"""Lists the resources that requests of EventBridge Scheduler use, for authorization."""

from collections.abc import Iterator
from typing import Protocol

from penstock.access.policy.requests import Principal
from penstock.access.resources import ANY, ActingService, Use, Uses
from penstock.aws.schedule_arn import DEFAULT_GROUP, GroupArn, schedule_arn
from penstock.aws.universal_target import UniversalTargetInvalid, find_resource, is_universal, read_action, read_input
from penstock.context import Context
from penstock.errors import AccessDenied

from .types import CreateScheduleRequest, Target

# The actions of a schedule on its target and dead-letter queue, by service. Targets of other services have no policies,
# so the targets must belong to the caller.
INVOKES = {"sqs": ("sqs", "SendMessage"), "sns": ("sns", "Publish"), "events": ("events", "PutEvents")}
RAW_EVENTS = ("events", "PutRawEvents")


class _WithGroupName(Protocol):
    group_name: str | None


class _WithName(Protocol):
    name: str


class _WithResourceArn(Protocol):
    resource_arn: str


class _WithScheduleName(_WithName, _WithGroupName, Protocol):
    pass


def use_schedule(request: _WithScheduleName, context: Context) -> Uses:
    """Returns a schedule of the named group or the default group."""
    return (_use_schedule(request.name, request.group_name, context),)


def use_schedules(request: _WithGroupName, context: Context) -> Uses:
    """Returns all schedules of the named group or the default group."""
    return (_use_schedule(ANY, request.group_name, context),)


def use_schedule_and_target(request: CreateScheduleRequest, context: Context) -> Iterator[Use]:
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
            raise AccessDenied(f"Access to the resource {arn} is denied.", resource=arn)


def use_group(request: _WithName, context: Context) -> Uses:
    return (_use_group(request.name, context),)


def use_groups(_: object, context: Context) -> Uses:
    return (_use_group(ANY, context),)


def use_tagged_group(request: _WithResourceArn, _: Context) -> Uses:
    return (Use(request.resource_arn, is_owned=False),)


def list_invoked_arns(target: Target, context: Context) -> list[str]:
    """Returns the ARNs of a schedule's target and dead-letter queue. A universal target has its resource in its input.
    The operation refuses texts that are not ARNs, and inputs that are not requests."""
    dead_letters = None if target.dead_letter_config is None else target.dead_letter_config.arn
    arn = find_called_resource(target, context) if is_universal(target.arn, "scheduler") else target.arn
    return [each for each in (arn, dead_letters) if each is not None and is_invoked_arn(each)]


def find_called_resource(target: Target, context: Context) -> str | None:
    try:
        action = read_action(target.arn)
        return find_resource(action, read_input(action, target.input or ""), context)
    except UniversalTargetInvalid:
        return None


def is_invoked_arn(text: str) -> bool:
    """Returns whether the text has the form of an ARN. So each target gets an access check, also one whose resource the
    operation refuses later."""
    parts = text.split(":", 5)
    return len(parts) == 6 and parts[0] == "arn"


def _use_schedule(name: str, group: str | None, context: Context) -> Use:
    arn = schedule_arn(context.region, context.account_id, group or DEFAULT_GROUP, name)
    return Use(arn, is_owned=False)


def _use_group(name: str, context: Context) -> Use:
    return Use(str(GroupArn(context.region, context.account_id, name)), is_owned=False)
