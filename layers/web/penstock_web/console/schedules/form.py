"""Converts the form of a schedule to requests, stored schedules to fields, and errors to problems of fields.

A schedule of EventBridge Scheduler has the members of AWS's API, and a schedule of the REST API has other members. The
fields of the times are the same. Start and end are local times of the schedule's time zone.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Final

import msgspec

from penstock.access.resources import build_arn
from penstock.aws.schedule_arn import build_schedule_key
from penstock.context import Context
from penstock.documents.times import format_time, parse_iso_time
from penstock.errors import AccessDenied, AwsError
from penstock.management.errors import ScheduleUnusable
from penstock.management.schedules.checks import to_schedule_unusable
from penstock.management.schedules.types import EXPRESSION_FORMS, PreviewRequest, SchedulePatch, read_patch, show_target
from penstock.scheduler.errors import ConflictException, ExpressionInvalid, ScheduleGroupNotFound, ValidationException
from penstock.scheduler.expressions.expression import convert_sentence
from penstock.scheduler.expressions.invalid import ScheduleInvalid
from penstock.scheduler.expressions.zones import find_first_instant, find_zone
from penstock.scheduler.rows import StoredSchedule
from penstock.scheduler.schedules import describe_schedule
from penstock_web.console.forms import FieldProblem, Form, find_json_fault

TIMES: Final = ("kind", "expression", "timezone", "start", "end")
"""The fields that decide when a schedule fires. The preview reads only these fields."""
FIELDS: Final = (
    *TIMES, "name", "group", "service", "target", "message_group", "input", "window", "max_age", "attempts", "dead",
    "completion", "description", "enabled", "jitter", "catchup", "catchup_limit", "threshold", "overlap",
)  # fmt: skip
SERVICES: Final = {"sqs": "Queue", "sns": "Topic", "lambda": "Function", "scheduler": "Universal target"}
BUS_SERVICES: Final = {**SERVICES, "events": "Event bus"}
"""The kinds of targets if the schedule has an event bus, whose parameters the form keeps and does not show."""
PREVIEWED: Final = 10
WITHOUT_FIELDS: Final = ("EventBridgePutEventsV2Parameters", "EventBridgePutRawEventsParameters")
MEMBERS: Final = {
    "name": "name", "groupName": "group", "scheduleExpression": "expression", "startDate": "start", "endDate": "end",
    "scheduleExpressionTimezone": "timezone", "target.arn": "target", "target.input": "input",
    "target.sqsParameters.messageGroupId": "message_group", "target.deadLetterConfig.arn": "dead",
    "target.retryPolicy.maximumEventAgeInSeconds": "max_age", "target.retryPolicy.maximumRetryAttempts": "attempts",
    "flexibleTimeWindow.maximumWindowInMinutes": "window", "description": "description",
    "start_at": "start", "end_at": "end", "timezone": "timezone", "jitter_secs": "jitter",
    "catchup_limit": "catchup_limit", "failure_threshold": "threshold",
}  # fmt: skip
"""The form's field, by the path of a member in an error of AWS's API or of the REST API."""

Values = dict[str, str]
Problems = dict[str, FieldProblem]
"""The problems of a form, by field. The problem of the whole form has the empty name."""

_rest_path = re.compile(r"`\$\.(\w+)").search


def read_values(form: Form) -> Values:
    """Returns the form's fields, without white space around all fields but the message."""
    typed = {field: form.get(field).replace("\r\n", "\n") for field in FIELDS}
    return {field: text if field == "input" else text.strip() for field, text in typed.items()}


def new_values() -> Values:
    """Returns the fields of an empty form."""
    return {**dict.fromkeys(FIELDS, ""), "timezone": "UTC", "group": "default", "service": "sqs", "enabled": "1"}


# --- stored schedules ------------------------------------------------------------------------------------------------
def show_values(row: StoredSchedule) -> Values:
    """Returns the fields of a stored schedule."""
    zone = find_zone(row.timezone)
    common = {
        "name": row.name, "group": row.group_name, "timezone": row.timezone, "expression": row.expression,
        "start": format_local(row.start_at, zone), "end": format_local(row.end_at, zone),
        "enabled": "1" if row.status == "active" else "",
    }  # fmt: skip
    return {**new_values(), **common, **(_show_aws(row) if row.api == "aws" else _show_rest(row))}


def _show_aws(row: StoredSchedule) -> Values:
    found = describe_schedule(row)
    target, window = msgspec.to_builtins(found.target), msgspec.to_builtins(found.flexible_time_window)
    retry = target.get("RetryPolicy") or {}
    return {
        "service": target["Arn"].split(":")[2],
        "target": target["Arn"],
        "message_group": (target.get("SqsParameters") or {}).get("MessageGroupId") or "",
        "input": target.get("Input") or "",
        "window": str(window.get("MaximumWindowInMinutes") or ""),
        "max_age": str(retry.get("MaximumEventAgeInSeconds", "")),
        "attempts": str(retry.get("MaximumRetryAttempts", "")),
        "dead": (target.get("DeadLetterConfig") or {}).get("Arn") or "",
        "completion": found.action_after_completion or "NONE",
        "description": found.description or "",
    }


def _show_rest(row: StoredSchedule) -> Values:
    target = show_target(row.target)
    is_queue = isinstance(target.queue, str)
    return {
        "kind": row.expression_kind,
        "service": "sqs" if is_queue else "event",
        "target": str(target.queue if is_queue else target.topic),
        "input": bytes(target.message).decode() if isinstance(target.message, msgspec.Raw) else "null",
        "jitter": str(row.jitter_seconds),
        "catchup": "1" if row.catchup else "",
        "catchup_limit": str(row.catchup_limit),
        "threshold": str(row.failure_threshold),
        "overlap": row.overlap,
    }


def format_local(at: datetime | None, zone: tzinfo) -> str:
    """Formats a time as a browser's field of a local time does. The form keeps no fraction of a second."""
    return "" if at is None else f"{at.astimezone(zone):%Y-%m-%dT%H:%M:%S}"


# --- times -----------------------------------------------------------------------------------------------------------
def read_period(values: Values, row: StoredSchedule | None, problems: Problems) -> dict[str, datetime | None]:
    """Returns `start` and `end`. Adds a problem for an unknown time zone, and for a time that does not exist.

    A field that the user has not changed keeps the stored time with its fraction of a second.
    """
    try:
        zone = find_zone(values["timezone"] or "UTC")
    except ScheduleInvalid as invalid:
        meant = f" Did you mean {invalid.suggestion}?" if invalid.suggestion else ""
        problems["timezone"] = FieldProblem(f"{invalid.message}.{meant}")
        return {"start": None, "end": None}
    stored = {} if row is None or row.timezone != values["timezone"] else {"start": row.start_at, "end": row.end_at}
    found = {}
    for field in ("start", "end"):
        kept = stored.get(field)
        is_kept = kept is not None and format_local(kept, zone) == values[field]
        found[field] = kept if is_kept else _read_local(field, values[field], zone, problems)
    return found


def _read_local(field: str, text: str, zone: tzinfo, problems: Problems) -> datetime | None:
    if not text:
        return None
    try:
        local = parse_iso_time(text)
    except ValueError:
        problems[field] = FieldProblem(f"{text[:40]!r} is not a time such as 2030-01-31T09:00.")
        return None
    if local.tzinfo is not None:
        return local.astimezone(UTC)
    if not 1970 <= local.year <= 2199:
        problems[field] = FieldProblem("The year must be 1970 to 2199.")
        return None
    instant = find_first_instant(local, zone)
    if instant is None:
        problems[field] = FieldProblem(f"{text} does not exist in {zone}, because the clock goes forward then.")
    return instant


def build_preview(values: Values, period: Mapping[str, datetime | None]) -> PreviewRequest:
    """Returns the request for the next ten times. Raises ScheduleUnusable for a wrong sentence."""
    is_rest = values["kind"] in EXPRESSION_FORMS
    try:
        written = values["expression"] if is_rest else convert_sentence(values["expression"])
    except ScheduleInvalid as invalid:
        raise to_schedule_unusable(invalid) from invalid
    given = {values["kind"] if is_rest else "expression": written}
    times = {f"{field}_at": _format_moment(at) for field, at in period.items()}
    document = {**given, **times, "timezone": values["timezone"] or "UTC", "count": PREVIEWED}
    return msgspec.convert(document, PreviewRequest)


# --- requests --------------------------------------------------------------------------------------------------------
def build_members(
    values: Values, row: StoredSchedule | None, context: Context, problems: Problems
) -> dict[str, object]:
    """Returns the members of CreateSchedule or UpdateSchedule. Members without a field keep their values."""
    period = read_period(values, row, problems)
    before = None if row is None else describe_schedule(row)
    window = read_number("window", values, problems)
    target: dict[str, object] = {
        "Arn": name_target(values, context),
        "RoleArn": f"arn:aws:iam::{context.account_id}:role/penstock",
        "Input": values["input"] or None,
        "RetryPolicy": {
            "MaximumEventAgeInSeconds": read_number("max_age", values, problems),
            "MaximumRetryAttempts": read_number("attempts", values, problems),
        },
    }
    if before is not None and before.target is not None and before.target.role_arn:
        target["RoleArn"] = before.target.role_arn
    if before is not None and before.target is not None and before.target.arn == target["Arn"]:
        stored = msgspec.to_builtins(before.target)
        target |= {name: stored[name] for name in WITHOUT_FIELDS if name in stored}
    if values["message_group"]:
        target["SqsParameters"] = {"MessageGroupId": values["message_group"]}
    if values["dead"]:
        target["DeadLetterConfig"] = {"Arn": name_resource("sqs", values["dead"], context)}
    return {
        "GroupName": values["group"] or None,
        "ScheduleExpression": read_expression(values, problems),
        "ScheduleExpressionTimezone": values["timezone"] or None,
        "StartDate": None if period["start"] is None else period["start"].timestamp(),
        "EndDate": None if period["end"] is None else period["end"].timestamp(),
        "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": window}
        if values["window"]
        else {"Mode": "OFF"},
        "Target": target,
        "State": "ENABLED" if values["enabled"] else "DISABLED",
        "ActionAfterCompletion": values["completion"] or None,
        "Description": values["description"] or None,
        "KmsKeyArn": None if before is None else before.kms_key_arn,
    }


def read_expression(values: Values, problems: Problems) -> str:
    """Returns AWS's expression. Converts a sentence such as `every weekday at 9am`, and adds the problem of a wrong
    sentence.
    """
    text = values["expression"]
    try:
        return convert_sentence(text)
    except ScheduleInvalid as invalid:
        problems |= _locate_unusable(to_schedule_unusable(invalid), values)
        return text


def build_patch(values: Values, row: StoredSchedule, problems: Problems) -> SchedulePatch:
    """Returns the changes of a schedule of the REST API. Raises InvalidParameterValue."""
    period = read_period(values, row, problems)
    before = _show_rest(row)
    document: dict[str, object] = {
        "timezone": values["timezone"] or "UTC",
        "start_at": _format_moment(period["start"]),
        "end_at": _format_moment(period["end"]),
        "jitter_secs": read_number("jitter", values, problems),
        "catchup": bool(values["catchup"]),
        "catchup_limit": read_number("catchup_limit", values, problems),
        "failure_threshold": read_number("threshold", values, problems),
        "overlap": values["overlap"],
        "status": "active" if values["enabled"] else "paused",
    }
    kind = values["kind"] if values["kind"] in EXPRESSION_FORMS else "cron"
    if (kind, values["expression"]) != (row.expression_kind, row.expression):
        document[kind] = values["expression"]
    if any(values[field] != before[field] for field in ("service", "target", "input")):
        destination, headers = "queue" if values["service"] == "sqs" else "topic", show_target(row.target).headers
        document["target"] = {
            destination: values["target"],
            "message": _read_json(values, problems),
            "headers": headers if isinstance(headers, dict) else {},
        }
    given = {name: value for name, value in document.items() if value is not None or name in ("start_at", "end_at")}
    return read_patch(msgspec.json.encode(given))


def _read_json(values: Values, problems: Problems) -> msgspec.Raw:
    """Returns the message as the user wrote it. Adds a problem if the text is not JSON."""
    text = values["input"].strip()
    if (fault := find_json_fault(text)) is not None:
        problems["input"] = FieldProblem(f"The message is not JSON. {fault}")
        return msgspec.Raw(b"null")
    return msgspec.Raw(text.encode())


def _format_moment(at: datetime | None) -> str | None:
    return None if at is None else format_time(at, "microseconds")


def read_number(field: str, values: Values, problems: Problems) -> int | None:
    """Returns a whole number, or None for an empty field. Adds a problem for any other text."""
    text = values[field]
    if text and not (text.isascii() and text.isdigit() and len(text) <= 6):
        problems[field] = FieldProblem("This must be a whole number.")
        return None
    return int(text) if text else None


def name_target(values: Values, context: Context) -> str:
    """Returns the target's ARN. The user can type the ARN, or the name of a resource of the account."""
    return name_resource(values["service"] if values["service"] in SERVICES else "sqs", values["target"], context)


def name_resource(service: str, text: str, context: Context) -> str:
    if text.startswith("arn:") or not text:
        return text
    return build_arn(service, f"function:{text}" if service == "lambda" else text, context)


# --- errors ----------------------------------------------------------------------------------------------------------
def locate(error: AwsError, values: Values, context: Context) -> Problems:
    """Returns the error at the field that it is about, or at the whole form."""
    if isinstance(error, AccessDenied):
        named = {"target": name_target(values, context), "dead": name_resource("sqs", values["dead"], context)}
        denied = (field for field, arn in named.items() if arn and arn == error.resource)
        return {next(denied, ""): FieldProblem(error.message)}
    if isinstance(error, ScheduleUnusable):
        return _locate_unusable(error, values)
    if isinstance(error, ConflictException):
        return {"name": FieldProblem(error.message)}
    if isinstance(error, ScheduleGroupNotFound):
        return {"group": FieldProblem(error.message)}
    if isinstance(error, ExpressionInvalid):
        return {"expression": FieldProblem(error.detail or error.message)}
    found = _locate_violations(error) if isinstance(error, ValidationException) else {}
    return found or _locate_member(error)


def _locate_unusable(error: ScheduleUnusable, values: Values) -> Problems:
    """Returns an error of the REST API. The error of an expression has the position of the mistake."""
    if error.reason:
        text = f"This {error.reason}." if error.reason.startswith("must") else error.reason
        return {MEMBERS.get(error.member, "target"): FieldProblem(text)}
    position, written = error.details.get("position"), values["expression"]
    around = (written[:position], written[position:]) if isinstance(position, int) else ("", "")
    problem = FieldProblem(error.message, *around, error.details.get("suggestion") or "")
    return {error.member or "expression": problem}


def _locate_violations(error: ValidationException) -> Problems:
    found: Problems = {}
    for violation in error.violations:
        if violation.path in MEMBERS:
            text = f"This {violation.reason.removeprefix('Member ')}. {error.detail or ''}".strip()
            found.setdefault(MEMBERS[violation.path], FieldProblem(text))
    return found


def _locate_member(error: AwsError) -> Problems:
    """Returns the error at the member that msgspec could not decode. Only msgspec's text has the member's path."""
    member = _rest_path(error.message)
    field = MEMBERS.get(member[1], "input" if member[1] == "target" else "") if member else ""
    return {field: FieldProblem(f"{error.message} {error.detail or ''}".strip())}


def build_key(values: Values) -> str:
    """Returns the key of the schedule that the form names."""
    return build_schedule_key(values["group"] or "default", values["name"])
