"""Creates and changes schedules of EventBridge Scheduler and their groups, for the console.

The operations take the members of AWS's API, and check the same limits and rights as the actions of AWS.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from penstock.access.authorization import authorize
from penstock.actions import ACTIONS
from penstock.aws.codec.errors import ConstraintViolation
from penstock.aws.codec.rest_json import build_decoder
from penstock.aws.schedule_arn import split_schedule_key
from penstock.context import Context
from penstock.effects import Operation
from penstock.management.rights import needs
from penstock.scheduler import groups, schedules
from penstock.scheduler import types as aws
from penstock.scheduler.errors import ValidationException

RequestT = TypeVar("RequestT", bound=msgspec.Struct)
Members = Mapping[str, object]
"""The members of a request by AWS's names, without the name in the path."""

_ACTIONS: Final = {action.label: action for action in ACTIONS if action.service == "scheduler"}


def read_request(kind: type[RequestT], name: str | None, members: Members) -> RequestT:
    """Returns a request. Raises ValidationException, with AWS's text, for members that violate AWS's limits."""
    try:
        request: RequestT = build_decoder(kind)(name, b"", msgspec.json.encode(members))
    except ConstraintViolation as violation:
        raise ValidationException.of(violation.problems) from None
    return request


def check_rights(action: str, request: msgspec.Struct, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller can perform the action with this request."""
    if context.user is not None:
        yield from authorize(_ACTIONS[action], request, context)


@needs("operation", "scheduler:CreateSchedule")
def create_schedule(name: str, members: Members, context: Context) -> Operation[None]:
    """Creates a schedule. Raises the errors of CreateSchedule."""
    request = read_request(aws.CreateScheduleRequest, name, members)
    yield from check_rights("scheduler:CreateSchedule", request, context)
    yield from schedules.create_schedule(request, context)


@needs("operation", "scheduler:UpdateSchedule")
def update_schedule(key: str, members: Members, context: Context) -> Operation[None]:
    """Replaces the schedule with this key (`NAME` or `GROUP:NAME`). Raises the errors of UpdateSchedule."""
    group, name = split_schedule_key(key)
    request = read_request(aws.UpdateScheduleRequest, name, {**members, "GroupName": group})
    yield from check_rights("scheduler:UpdateSchedule", request, context)
    yield from schedules.update_schedule(request, context)


@needs("operation", "scheduler:ListScheduleGroups")
def list_groups(after: str | None, context: Context) -> Operation[aws.ListScheduleGroupsResult]:
    """Returns a page of the account's schedule groups by name."""
    request = aws.ListScheduleGroupsRequest(next_token=after)
    yield from check_rights("scheduler:ListScheduleGroups", request, context)
    return (yield from groups.list_schedule_groups(request, context))


@needs("operation", "scheduler:CreateScheduleGroup")
def create_group(name: str, context: Context) -> Operation[None]:
    """Creates a schedule group. Raises the errors of CreateScheduleGroup."""
    request = read_request(aws.CreateScheduleGroupRequest, name, {})
    yield from check_rights("scheduler:CreateScheduleGroup", request, context)
    yield from groups.create_schedule_group(request, context)


@needs("operation", "scheduler:DeleteScheduleGroup")
def delete_group(name: str, context: Context) -> Operation[None]:
    """Deletes a schedule group with its schedules. Raises the errors of DeleteScheduleGroup."""
    request = read_request(aws.DeleteScheduleGroupRequest, name, {})
    yield from check_rights("scheduler:DeleteScheduleGroup", request, context)
    yield from groups.delete_schedule_group(request, context)
