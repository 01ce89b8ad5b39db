"""Amazon Resource Names of event buses, subscribers and event sources.

    arn:aws:events:us-east-1:123456789012:event-busv2/orders/3f0k2…
    arn:aws:events:us-east-1:123456789012:subscriber/billing/9x1b7…
    arn:aws:events:us-east-1:123456789012:event-sourcev2/webhook/shop/0a4zq…

An ARN ends in an id of 25 random letters and digits, so a new resource with the name of a deleted one has another ARN.
"""

import re
import secrets
from typing import NamedTuple

ID_LENGTH = 25
_ID_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
BUS, SUBSCRIBER, SOURCE = "event-busv2", "subscriber", "event-sourcev2"
is_name = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,255}").fullmatch
"""Matches the name of an event bus, a subscriber or an event source."""


class EventsArn(NamedTuple):
    """The parts of an ARN. `kind` is BUS, SUBSCRIBER or SOURCE."""

    region: str
    account_id: str
    kind: str


def build_id() -> str:
    """Returns a new random id of a resource."""
    return "".join(secrets.choice(_ID_CHARACTERS) for _ in range(ID_LENGTH))


def build_events_arn(region: str, account_id: str, kind: str, name: str, resource_id: str) -> str:
    return f"arn:aws:events:{region}:{account_id}:{kind}/{name}/{resource_id}"


def split_events_arn(arn: str) -> EventsArn:
    """Returns the parts of an ARN whose form the request's type has checked."""
    _, _, _, region, account_id, resource = arn.split(":")
    return EventsArn(region, account_id, resource.partition("/")[0])


def is_bus_arn(text: str) -> bool:
    """Returns whether a text is the ARN of an event bus in the partition `aws`."""
    parts = text.split(":")
    return (
        len(parts) == 6
        and parts[:3] == ["arn", "aws", "events"]
        and parts[5].startswith(f"{BUS}/")
        and parts[5].count("/") == 2
        and len(parts[5].rpartition("/")[2]) == ID_LENGTH
    )
