"""Creates, gets, updates, deletes and lists schedules of EventBridge Scheduler.

The REST API shows the same rows. Each of the two APIs converts all schedules to its own format.
"""

from datetime import UTC, datetime, timedelta

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.access.quotas import check_quota
from penstock.aws.schedule_arn import DEFAULT_GROUP, schedule_arn
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.errors import KMS_KEYS_REFUSED
from penstock.postgres.statements.schedules import DROP_SCHEDULE_ONCE, LIST_SCHEDULES, PUT_SCHEDULE, PutMode

from . import paging, targets
from . import rows as schedule_rows
from . import types as scheduler
from .errors import (
    ConflictException,
    ResourceNotFoundException,
    ScheduleGroupNotFound,
    ServiceQuotaExceededException,
    ValidationException,
)
from .expressions.expression import Expression, ScheduleInvalid, parse_aws
from .expressions.zones import find_zone
from .groups import build_token, check_group
from .rows import Period, StoredSchedule, read_row

PAGE = 100
MAX_PAST = timedelta(minutes=5)  # the allowed age of a new schedule's StartDate
WINDOW = "flexibleTimeWindow.maximumWindowInMinutes"

STATUS = {"ENABLED": "active", "DISABLED": "paused"}
STATES = {status: state for state, status in STATUS.items()}

Created = Operation[scheduler.CreateScheduleResult]


def create_schedule(request: scheduler.CreateScheduleRequest, context: Context) -> Created:
    """Creates a schedule. The same request with the same ClientToken returns the schedule that it created."""
    row = yield from put("create", request, context)
    return scheduler.CreateScheduleResult(schedule_arn=build_arn(row))


def update_schedule(
    request: scheduler.UpdateScheduleRequest, context: Context
) -> Operation[scheduler.UpdateScheduleResult]:
    """Replaces a schedule. Members that the request omits get their defaults, as on AWS."""
    row = yield from put("update", request, context)
    return scheduler.UpdateScheduleResult(schedule_arn=build_arn(row))


def get_schedule(request: scheduler.GetScheduleRequest, context: Context) -> Operation[scheduler.GetScheduleResult]:
    """Returns a schedule."""
    _, row = yield from schedule_rows.read(request.group_name or DEFAULT_GROUP, request.name, context)
    if row is None:
        raise ResourceNotFoundException.missing(f"Schedule {request.name}")
    return describe_schedule(row)


@audited(
    lambda request, context: Act(
        "scheduler:DeleteSchedule",
        schedule_arn(context.region, context.account_id, request.group_name or DEFAULT_GROUP, request.name),
    )
)
def delete_schedule(request: scheduler.DeleteScheduleRequest, context: Context) -> Operation[None]:
    """Deletes a schedule with its pending retries. A second request with the same ClientToken has no effect."""
    key = (context.account_id, context.region, request.group_name or DEFAULT_GROUP, request.name)
    (row,) = yield from Call(DROP_SCHEDULE_ONCE, (*key, request.client_token))
    if not row.dropped:
        raise ResourceNotFoundException.missing(f"Schedule {request.name}")


def list_schedules(
    request: scheduler.ListSchedulesRequest, context: Context
) -> Operation[scheduler.ListSchedulesResult]:
    """Returns schedules in the order of group and name, at most 100 on a page."""
    limit = request.max_results or PAGE
    group, name = paging.read_schedule(request.next_token)
    status = None if request.state is None else STATUS[request.state]
    rows = yield from Call(
        LIST_SCHEDULES,
        (context.account_id, context.region, request.group_name, request.name_prefix, status, None, None, group,
         name, limit + 1),
    )  # fmt: skip
    if not rows and request.group_name is not None:
        yield from check_group(request.group_name, context)
    found = [read_row(row.schedule) for row in rows[:limit]]
    token = paging.build_token(f"{found[-1].group_name}/{found[-1].name}") if len(rows) > limit else None
    return scheduler.ListSchedulesResult(schedules=[summarise(row) for row in found], next_token=token)


# --- writing ---------------------------------------------------------------------------------------------------------
@audited(
    lambda mode, request, context: Act(
        f"scheduler:{mode.title()}Schedule",
        schedule_arn(context.region, context.account_id, request.group_name or DEFAULT_GROUP, request.name),
        when_changed=True,
    )
)
def put(mode: PutMode, request: scheduler.CreateScheduleRequest, context: Context) -> Operation[StoredSchedule]:
    """Creates or replaces a schedule. Returns the stored schedule.

    Raises ValidationException, ConflictException, ResourceNotFoundException.
    """
    if request.kms_key_arn and context.environment.settings.queue_refuse_kms:
        raise ValidationException.of_member(request.kms_key_arn, "kmsKeyArn", "be null", KMS_KEYS_REFUSED)
    expression = check_expression(request)
    period = check_period(request)
    window = check_window(request.flexible_time_window)
    target = targets.check_target(request.target, context)
    group = request.group_name or DEFAULT_GROUP
    if mode == "create":
        yield from check_quota("schedules", request.name, context, ServiceQuotaExceededException, group)
    now, _ = yield from schedule_rows.read(group, request.name, context)
    if mode == "create" and not expression.is_one_shot:
        check_start(period, now)
    period = Period(period.start, period.end, period.start or now)
    fields = {
        "api": "aws",
        "expression_kind": expression.form,
        "expression": expression.written,
        "canonical": expression.canonical,
        "timezone": expression.timezone,
        "anchor_at": period.anchor,
        "start_at": period.start,
        "end_at": period.end,
        "window_minutes": window,
        "target": target,
        "status": STATUS[request.state or "ENABLED"],
        "description": request.description,
        "kms_key_arn": request.kms_key_arn,
        "action_after_completion": request.action_after_completion or "NONE",
        "client_token": build_token(request.client_token, request) if mode == "create" else None,
    }
    following = schedule_rows.find_first_fire(mode, expression, now, period, context)
    key = (context.account_id, context.region, group, request.name)
    (row,) = yield from Call(PUT_SCHEDULE, (*key, mode, encode_jsonb(fields), following))
    if row.error is not None:
        raise build_error(row.error, group, request.name)
    return read_row(row.schedule)


def build_error(error: str, group: str, name: str) -> Exception:
    """Returns the typed error for a code that queue.put_schedule returned."""
    if error == "ScheduleExists":
        return ConflictException.exists(f"Schedule {name}")
    if error == "GroupNotFound":
        return ScheduleGroupNotFound.missing(f"Schedule group {group}")
    return ResourceNotFoundException.missing(f"Schedule {name}")


def check_expression(request: scheduler.CreateScheduleRequest) -> Expression:
    """Parses the expression in its time zone. Raises ValidationException with the position and the reason."""
    timezone = request.schedule_expression_timezone or "UTC"
    try:
        find_zone(timezone)
    except ScheduleInvalid as invalid:
        path, constraint = "scheduleExpressionTimezone", "be a name of the IANA time zone database"
        raise ValidationException.of_member(timezone, path, constraint, invalid.message) from invalid
    try:
        return parse_aws(request.schedule_expression, timezone)
    except ScheduleInvalid as invalid:
        raise ValidationException.expression(request.schedule_expression, invalid.message) from invalid


def check_period(request: scheduler.CreateScheduleRequest) -> Period:
    """Returns start and end. Start and end can be in the past if the client changes a schedule after the schedule
    started."""
    start, end = convert_moment(request.start_date), convert_moment(request.end_date)
    if start is not None and end is not None and end <= start:
        raise ValidationException.of_member(str(request.end_date), "endDate", "be later than startDate")
    return Period(start, end)


def check_start(period: Period, now: datetime) -> None:
    """Raises ValidationException, with AWS's text, for a new recurring schedule with an old StartDate."""
    if period.start is not None and period.start < now - MAX_PAST:
        raise ValidationException("The StartDate you specify cannot be earlier than 5 minutes ago.")


def check_window(window: scheduler.FlexibleTimeWindow) -> int | None:
    """Returns the flexible window in minutes, or None if it is off."""
    minutes = window.maximum_window_in_minutes
    if window.mode == "FLEXIBLE" and minutes is None:
        raise ValidationException.of_member(None, WINDOW, "not be null", "The mode is FLEXIBLE.")
    if window.mode == "OFF" and minutes is not None:
        raise ValidationException.of_member(str(minutes), WINDOW, "be null", "The mode is OFF.")
    return minutes


def convert_moment(seconds: float | None) -> datetime | None:
    """Converts a request's time, and keeps milliseconds."""
    return None if seconds is None else datetime.fromtimestamp(round(seconds, 3), UTC)


# --- reading ---------------------------------------------------------------------------------------------------------
def build_arn(row: StoredSchedule) -> str:
    return schedule_arn(row.region, row.account_id, row.group_name, row.name)


def describe_schedule(row: StoredSchedule) -> scheduler.GetScheduleResult:
    """Converts a schedule to EventBridge Scheduler's format."""
    minutes = row.window_minutes
    window = scheduler.FlexibleTimeWindow("OFF" if minutes is None else "FLEXIBLE", minutes)
    return scheduler.GetScheduleResult(
        arn=build_arn(row),
        group_name=row.group_name,
        name=row.name,
        schedule_expression=build_expression_text(row),
        start_date=to_seconds(row.start_at),
        end_date=to_seconds(row.end_at),
        description=row.description,
        schedule_expression_timezone=row.timezone,
        state=STATES[row.status],
        creation_date=to_seconds(row.created_at),
        last_modification_date=to_seconds(row.updated_at),
        kms_key_arn=row.kms_key_arn,
        target=describe_target(row),
        flexible_time_window=window,
        action_after_completion=row.action_after_completion or "NONE",
    )


def summarise(row: StoredSchedule) -> scheduler.ScheduleSummary:
    """Converts a schedule to the format of a list's entries."""
    return scheduler.ScheduleSummary(
        arn=build_arn(row),
        name=row.name,
        group_name=row.group_name,
        state=STATES[row.status],
        creation_date=to_seconds(row.created_at),
        last_modification_date=to_seconds(row.updated_at),
        target=scheduler.TargetSummary(arn=describe_target(row).arn),
    )


def build_expression_text(row: StoredSchedule) -> str:
    """Returns the expression in AWS's format. An expression of the REST API becomes `at()` or `cron()`."""
    if row.api == "aws":
        return row.expression
    if row.expression_kind == "fire_at":
        return f"at({row.canonical.removesuffix('Z')})"
    return f"cron({row.canonical})"


def describe_target(row: StoredSchedule) -> scheduler.Target:
    """Returns the target. A target of the REST API has the ARN of its queue or topic, and no role."""
    if row.api == "aws":
        return msgspec.convert(row.target, scheduler.Target)
    service, name = ("sqs", row.target["queue"]) if "queue" in row.target else ("sns", row.target["topic"])
    return scheduler.Target(arn=f"arn:aws:{service}:{row.region}:{row.account_id}:{name}", role_arn="")


def to_seconds(at: datetime | None) -> float | None:
    """Converts a time to the format of responses, and keeps milliseconds."""
    return None if at is None else round(at.timestamp(), 3)
