"""Implements schedule groups of EventBridge Scheduler, and their tags. The group `default` always exists."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from penstock.access.audit.acts import Act, audited
from penstock.aws.schedule_arn import DEFAULT_GROUP, GroupArn, parse_group_arn
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.schedules import (
    DROP_SCHEDULE_ONCE,
    LIST_SCHEDULE_GROUPS,
    PUT_SCHEDULE_GROUP,
    READ_SCHEDULE_GROUP,
    TAG_SCHEDULE_GROUP,
    UNTAG_SCHEDULE_GROUP,
)

from . import paging
from . import types as scheduler
from .errors import (
    ConflictException,
    ResourceNotFoundException,
    ScheduleGroupNotFound,
    SchedulerError,
    ServiceQuotaExceededException,
    ValidationException,
)

PAGE = 100
MAX_TAGS = 50  # "Tagging your AWS resources". The model's limit of 200 applies to one request.


class ScheduleGroup(Struct):
    """A row of the table queue.schedule_group."""

    account_id: str
    region: str
    name: str
    state: str
    tags: dict[str, str]
    created_at: datetime
    updated_at: datetime

    @property
    def arn(self) -> str:
        return str(GroupArn(self.region, self.account_id, self.name))


@audited(
    lambda request, context: Act(
        "scheduler:CreateScheduleGroup", str(GroupArn(context.region, context.account_id, request.name))
    )
)
def create_schedule_group(
    request: scheduler.CreateScheduleGroupRequest, context: Context
) -> Operation[scheduler.CreateScheduleGroupResult]:
    """Creates a group. The same request with the same ClientToken returns the group that it created."""
    tags = check_tags(request.tags or ())
    token = build_token(request.client_token, request)
    key = (context.account_id, context.region, request.name)
    (row,) = yield from Call(PUT_SCHEDULE_GROUP, (*key, encode_jsonb(tags), token))
    if row.error is not None:
        raise ConflictException.exists(f"Schedule group {request.name}")
    arn = GroupArn(context.region, context.account_id, request.name)
    return scheduler.CreateScheduleGroupResult(schedule_group_arn=str(arn))


def build_token(client_token: str | None, request: Struct) -> str | None:
    """Returns the token to store. The token contains a hash of the request, so a different request with the same client
    token has a different stored token."""
    if client_token is None:
        return None
    return f"{client_token}:{sha256(msgspec.json.encode(request)).hexdigest()[:32]}"


def get_schedule_group(
    request: scheduler.GetScheduleGroupRequest, context: Context
) -> Operation[scheduler.GetScheduleGroupResult]:
    group = yield from read(request.name, context)
    return scheduler.GetScheduleGroupResult(**describe_group(group))


@audited(
    lambda request, context: Act(
        "scheduler:DeleteScheduleGroup", str(GroupArn(context.region, context.account_id, request.name))
    )
)
def delete_schedule_group(request: scheduler.DeleteScheduleGroupRequest, context: Context) -> Operation[None]:
    """Deletes a group and its schedules at once, so the group never has the state DELETING. A ClientToken has the same
    effect as for schedules."""
    if request.name == DEFAULT_GROUP:
        raise ValidationException.of_member(request.name, "name", "not be the default group")
    key = (context.account_id, context.region, request.name, "")
    (row,) = yield from Call(DROP_SCHEDULE_ONCE, (*key, request.client_token))
    if not row.dropped:
        raise build_missing_error(request.name)


def list_schedule_groups(
    request: scheduler.ListScheduleGroupsRequest, context: Context
) -> Operation[scheduler.ListScheduleGroupsResult]:
    """Returns groups in the order of their names, at most 100 on a page."""
    limit = request.max_results or PAGE
    after = paging.read_group(request.next_token)
    key = (context.account_id, context.region)
    rows = yield from Call(LIST_SCHEDULE_GROUPS, (*key, request.name_prefix, after, limit + 1))
    found = [msgspec.convert(row.schedule_group, ScheduleGroup) for row in rows[:limit]]
    return scheduler.ListScheduleGroupsResult(
        schedule_groups=[scheduler.ScheduleGroupSummary(**describe_group(group)) for group in found],
        next_token=paging.build_token(found[-1].name) if len(rows) > limit else None,
    )


# --- tags ------------------------------------------------------------------------------------------------------------
@audited(lambda request, _context: Act("scheduler:TagResource", request.resource_arn, when_changed=True))
def tag_resource(request: scheduler.TagResourceRequest, context: Context) -> Operation[None]:
    """Adds tags to a group. The new value replaces the value of an existing tag."""
    arn = find_own_group(request.resource_arn, context)
    tags = check_tags(request.tags)
    (row,) = yield from Call(TAG_SCHEDULE_GROUP, (*build_key(arn), encode_jsonb(tags), MAX_TAGS))
    raise_tag_error(row.error, arn)


@audited(lambda request, _context: Act("scheduler:UntagResource", request.resource_arn, when_changed=True))
def untag_resource(request: scheduler.UntagResourceRequest, context: Context) -> Operation[None]:
    """Removes tags. Ignores missing tags."""
    arn = find_own_group(request.resource_arn, context)
    (row,) = yield from Call(UNTAG_SCHEDULE_GROUP, (*build_key(arn), request.tag_keys))
    raise_tag_error(row.error, arn)


def list_tags_for_resource(
    request: scheduler.ListTagsForResourceRequest, context: Context
) -> Operation[scheduler.ListTagsForResourceResult]:
    """Returns all tags of a group."""
    group = yield from read(find_own_group(request.resource_arn, context).name, context)
    return scheduler.ListTagsForResourceResult(
        tags=[scheduler.Tag(key=key, value=value) for key, value in group.tags.items()]
    )


def check_tags(tags: Sequence[scheduler.Tag]) -> dict[str, str]:
    """Returns tags by key. Raises ValidationException for a repeated key and for a key that is reserved for AWS."""
    found = {tag.key: tag.value for tag in tags}
    if len(found) < len(tags):
        raise ValidationException.of_member("[…]", "tags", "have each key once")
    if any(key.lower().startswith("aws:") for key in found):
        raise ValidationException.of_member("[…]", "tags", "have no keys that begin with aws:")
    if len(found) > MAX_TAGS:
        raise build_tag_limit_error()
    return found


def build_tag_limit_error() -> ServiceQuotaExceededException:
    return ServiceQuotaExceededException(f"A schedule group has at most {MAX_TAGS} tags.")


def raise_tag_error(error: str | None, arn: GroupArn) -> None:
    """Raises the error for a code that a SQL function returned."""
    if error is not None:
        raise build_tag_limit_error() if error == "TagLimitExceeded" else build_missing_error(arn.name)


# --- the group of a request ------------------------------------------------------------------------------------------
def find_own_group(text: str, context: Context) -> GroupArn:
    """Returns the group with the request's ARN. Raises ResourceNotFoundException for a group of another account or
    region."""
    arn = parse_group_arn(text)
    if arn is None or (arn.region, arn.account_id) != (context.region, context.account_id):
        raise ResourceNotFoundException.missing(f"Resource {text}")
    return arn


def build_key(arn: GroupArn) -> tuple[str, str, str]:
    return arn.account_id, arn.region, arn.name


def read(name: str, context: Context) -> Operation[ScheduleGroup]:
    """Returns the group. Raises ResourceNotFoundException."""
    rows = yield from Call(READ_SCHEDULE_GROUP, (context.account_id, context.region, name))
    if not rows:
        raise build_missing_error(name)
    (row,) = rows
    return msgspec.convert(row.schedule_group, ScheduleGroup)


def check_group(name: str, context: Context) -> Operation[None]:
    """Raises ResourceNotFoundException if the group does not exist."""
    yield from read(name, context)


def build_missing_error(name: str) -> SchedulerError:
    return ScheduleGroupNotFound.missing(f"Schedule group {name}")


def describe_group(group: ScheduleGroup) -> dict[str, Any]:
    """Returns a group in EventBridge Scheduler's format."""
    return {
        "arn": group.arn,
        "name": group.name,
        "state": group.state,
        "creation_date": round(group.created_at.timestamp(), 3),
        "last_modification_date": round(group.updated_at.timestamp(), 3),
    }
