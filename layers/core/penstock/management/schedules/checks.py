"""Validates schedules, and builds the columns of queue.schedule to store, by name."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET

from penstock import errors
from penstock.aws.arn import is_queue_name
from penstock.documents.routing_keys import is_routing_key
from penstock.documents.times import parse_timestamp
from penstock.management.errors import ScheduleConflict, ScheduleUnusable
from penstock.management.messages.conversion import format_body
from penstock.scheduler.expressions.expression import Expression, ScheduleInvalid, parse, parse_aws, read_stored
from penstock.scheduler.expressions.invalid import TimezoneInvalid
from penstock.scheduler.rows import Period, StoredSchedule
from penstock.sns.filter_policy import facts as filter_facts
from penstock.sqs import validation

from .types import EXPRESSION_FORMS, NAME, NewSchedule, NewTarget, PreviewRequest, SchedulePatch, to_attributes

# Columns whose name differs in the API. The specification of Penstock names the API's field.
COLUMN_NAMES = {"jitter_secs": "jitter_seconds"}
DIRECT_FIELDS = ("jitter_secs", "catchup", "catchup_limit", "failure_threshold", "overlap", "status")
MAX_HEADERS = validation.MAX_ATTRIBUTES - 1  # each firing adds a header
_NAME = re.compile(NAME).fullmatch
_KEY = re.compile(r"(?:[0-9a-zA-Z_.-]{1,64}:)?[0-9a-zA-Z_.-]{1,64}").fullmatch
Fields = dict[str, Any]


def check_name(name: str) -> str:
    """Returns the name. Raises ScheduleUnusable."""
    if _NAME(name) is None:
        raise ScheduleUnusable.of("name", "1 to 64 lower-case letters, digits, '_' and '-'")
    return name


def may_be_schedule_key(key: str) -> bool:
    """Returns whether a schedule can have this key, which is its name, or `GROUP:NAME`. EventBridge Scheduler allows
    more names than the REST API."""
    return _KEY(key) is not None


def build_new_fields(new: NewSchedule) -> tuple[Expression, Fields]:
    """Returns the expression, and all fields to store. Raises ScheduleUnusable, InvalidParameterValue and others."""
    expression = read_expression(new, new.timezone)
    fields = {COLUMN_NAMES.get(name, name): getattr(new, name) for name in DIRECT_FIELDS} | list_expression_columns(
        expression
    )
    fields |= {"start_at": parse_time("start_at", new.start_at), "end_at": parse_time("end_at", new.end_at)}
    fields |= {"api": "rest", "target": check_target(new.target)}
    check_period(build_period(fields))
    return expression, fields


def change_fields(row: StoredSchedule, changes: SchedulePatch) -> Fields:
    """Returns the fields that a change writes. Raises ScheduleConflict if only EventBridge Scheduler can write a
    field."""
    given = {name for name in changes.__struct_fields__ if getattr(changes, name) not in (None, UNSET)}
    given |= {name for name in ("start_at", "end_at") if getattr(changes, name) is None}
    if row.api == "aws" and given - {"status"}:
        raise ScheduleConflict(
            f"Schedule '{row.name}' was created through EventBridge Scheduler; only its status can be changed here"
        )
    fields = {COLUMN_NAMES.get(name, name): getattr(changes, name) for name in DIRECT_FIELDS if name in given}
    if given & {*EXPRESSION_FORMS, "timezone"}:
        fields |= list_expression_columns(change_expression(row, changes))
    for name in {"start_at", "end_at"} & given:
        fields[name] = parse_time(name, getattr(changes, name))
    if isinstance(changes.target, NewTarget):
        fields["target"] = check_target(changes.target)
    check_period(build_period(list_period_columns(row) | fields))
    return fields


def list_period_columns(row: StoredSchedule) -> Fields:
    """Returns the row's columns that limit the period of the schedule."""
    return {"start_at": row.start_at, "end_at": row.end_at, "anchor_at": row.anchor_at}


def build_period(fields: Mapping[str, Any]) -> Period:
    """Returns the period in these columns."""
    return Period(fields.get("start_at"), fields.get("end_at"), fields.get("anchor_at"))


def check_period(period: Period) -> None:
    """Raises ScheduleUnusable unless the period ends after it starts."""
    if period.start is not None and period.end is not None and period.end <= period.start:
        raise ScheduleUnusable.of("end_at", "must be later than start_at")


def parse_time(name: str, text: str | None) -> datetime | None:
    """Parses an RFC 3339 time and returns it in UTC. Raises ScheduleUnusable."""
    if text is None:
        return None
    if (found := parse_timestamp(text)) is not None:
        return found
    raise ScheduleUnusable.of(name, "not a time such as 2030-01-31T09:00:00Z")


def read_expression(given: NewSchedule | PreviewRequest | SchedulePatch, timezone: str) -> Expression:
    """Parses an expression. Raises ScheduleUnusable with the position of the error, a suggestion, and examples."""
    forms = {form: getattr(given, form) for form in EXPRESSION_FORMS}
    try:
        if isinstance(given, PreviewRequest) and given.expression is not None:
            if any(text is not None for text in forms.values()):
                raise ScheduleInvalid("exactly one of cron, every, when, fire_at and expression is given")
            return parse_aws(given.expression, timezone)
        return parse(**forms, timezone=timezone)
    except ScheduleInvalid as invalid:
        raise to_schedule_unusable(invalid) from invalid


def to_schedule_unusable(invalid: ScheduleInvalid) -> ScheduleUnusable:
    """Returns the API's error with all details of the parser's error."""
    details = {"position": invalid.position, "suggestion": invalid.suggestion, "examples": list(invalid.examples)}
    member = "timezone" if isinstance(invalid, TimezoneInvalid) else ""
    return ScheduleUnusable(invalid.message, details, member=member)


def change_expression(row: StoredSchedule, changes: SchedulePatch) -> Expression:
    """Returns the new expression, or the row's expression in another time zone."""
    timezone = changes.timezone if isinstance(changes.timezone, str) else row.timezone
    if any(getattr(changes, form) is not None for form in EXPRESSION_FORMS):
        return read_expression(changes, timezone)
    return read_expression(msgspec.convert({row.expression_kind: row.expression}, SchedulePatch), timezone)


def list_expression_columns(expression: Expression) -> Fields:
    """Returns the columns that store an expression."""
    return {
        "expression_kind": expression.form,
        "expression": expression.written,
        "canonical": expression.canonical,
        "timezone": expression.timezone,
    }


def apply_expression(row: StoredSchedule, fields: Fields) -> Expression:
    """Returns the schedule's expression after a write of these columns."""
    return read_stored(*(fields.get(name, getattr(row, name)) for name in list_expression_columns(row.when)))


def check_target(target: NewTarget) -> Fields:
    """Returns the target to store. Raises ScheduleUnusable, InvalidParameterValue, RequestEntityTooLarge and
    others."""
    if target.workflow is not UNSET or target.input is not UNSET:
        raise ScheduleUnusable.of("target", "must be a queue or a topic; workflows are not supported")
    if (target.queue is None) == (target.topic is None):
        raise ScheduleUnusable.of("target", "must name a queue or a topic, and not both")
    if isinstance(target.message, msgspec.UnsetType):
        raise ScheduleUnusable.of("target", "message is required, and can be null")
    if len(target.headers) > MAX_HEADERS:
        raise errors.InvalidParameterValue(f"target: at most {MAX_HEADERS} headers, because each firing adds one")
    body = format_body(target.message)
    validation.check_message_body(body)
    attributes = to_attributes(target.headers)
    validation.check_message_attributes(attributes)
    return {**build_destination_fields(target, body), "body": body, "attributes": attributes}


def build_destination_fields(target: NewTarget, body: str) -> Fields:
    """Returns the fields for the message's destination.

    Filter policies compare an event's facts.
    """
    if target.queue is not None:
        if not is_queue_name(target.queue):
            raise ScheduleUnusable.of("target", f"no queue can be called '{target.queue[:80]}'")
        return {"queue": target.queue}
    if not is_routing_key(target.topic or ""):
        raise ScheduleUnusable.of("target", "topic is a routing key: letters, digits, '_' and '-' between dots")
    facts = filter_facts.encode_body_facts(body)
    return {"topic": target.topic, "facts": None if facts is None else msgspec.Raw(facts)}
