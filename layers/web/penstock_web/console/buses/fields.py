"""Converts values of event buses for pages and forms: times, targets and fields that several screens share."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from penstock.aws.api_destination_arn import find_destination_name, is_api_destination_arn
from penstock.aws.arn import parse_queue_arn
from penstock.aws.bus_arn import is_bus_arn
from penstock.aws.sns_arn import parse_topic_arn
from penstock.aws.universal_target import is_universal
from penstock.context import Context
from penstock.documents.times import parse_timestamp
from penstock.errors import InvalidParameterValue
from penstock_web.console.forms import Form, find_json_fault
from penstock_web.console.rendering import segment

COLORS: Final = {"running": "good", "stopped": "warn", "revoked": "bad", "unsupported": "bad"}
"""The style of a subscriber's state."""
LOCAL_LENGTH: Final = len("2026-11-30T07:00")


class Target(NamedTuple):
    """The target of a subscriber. `path` is the console's page about it, or empty."""

    kind: str
    name: str
    path: str
    is_missing: bool = False


def describe_target(arn: str, context: Context) -> Target:
    """Returns the kind and the name of a target. A target of another account or region has its ARN as name."""
    kind, name, path = "", arn, ""
    if parse_queue_arn(arn) is not None:
        kind, name, path = "queue", arn.rpartition(":")[2], "queues"
    elif parse_topic_arn(arn) is not None:
        kind, name, path = "topic", arn.rpartition(":")[2], "topics"
    elif is_bus_arn(arn):
        kind, name, path = "event bus", arn.split("/")[1], "buses"
    elif is_api_destination_arn(arn):
        kind, name = "API destination", find_destination_name(arn)
    elif is_universal(arn, "events"):
        kind = "universal target"
    elif ":function:" in arn:
        kind, name = "function", arn.partition(":function:")[2]
    is_own = arn.split(":")[3:5] == [context.region, context.account_id]
    return Target(kind, name if is_own else arn, f"/console/{path}/{segment(name)}" if is_own and path else "")


def parse_moment(text: str | None) -> datetime | None:
    """Returns the time of a document, or None if the document has no time."""
    return None if text is None else parse_timestamp(text)


def read_utc(text: str) -> str:
    """Returns the RFC 3339 time of a browser's field for a local time, whose time zone is UTC. Returns other text
    unchanged."""
    if len(text) == LOCAL_LENGTH:
        return f"{text}:00Z"
    return f"{text}Z" if len(text) == LOCAL_LENGTH + 3 else text


def read_number(form: Form, name: str) -> int | None:
    """Returns a field as a whole number, or None for an empty field. Raises InvalidParameterValue."""
    text = form.get(name).strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise InvalidParameterValue(f"'{name}': a whole number.", member=name)
    return int(text) if text else None


def check_json(field: str, text: str) -> bool:
    """Returns True. Raises InvalidParameterValue with the place of a fault."""
    fault = find_json_fault(text)
    if fault is not None:
        text = f"{field}: {fault.text}\n line: {fault.line}, column: {fault.column}"
        raise InvalidParameterValue(text, member=field)
    return True


def fill_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Returns the fields of stored tags. Returns no fields for tags that lines of text cannot show."""
    text = "\n".join(f"{key}={value}" for key, value in tags.items())
    fields = {"tags": text, "tags_before": text}
    return fields if Form.filled(fields).get_tags() == tags else {}


def read_changed_tags(form: Form) -> dict[str, str] | UnsetType:
    """Returns the tags of a form if the user has changed them."""
    return UNSET if form.get_text("tags") == form.get_text("tags_before") else form.get_tags()
