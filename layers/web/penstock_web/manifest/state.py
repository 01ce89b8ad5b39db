"""Defines the current state of an endpoint, and the client that reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from .model import Manifest


class Rest(Protocol):
    """The part of the REST client that this module uses (penstock_web/cli/client.py)."""

    def call(self, method: str, path: str, body: object = None, **parameters: object) -> Mapping[str, object]:
        """Returns the response's JSON object."""

    def read_account(self) -> str:
        """Returns the account of the REST API's caller."""


@dataclass(slots=True)
class Current:
    """The current state. `messages` contains each queue's number of messages. `subscription_arns`, `bindings` of
    queues, `mapping_ids`, `bus_arns`, `bus_bindings`, `subscriber_arns` and `destination_arns` contain the ids that
    AWS's APIs and the REST API use. `bus_events` contains each bus's number of events.
    """

    manifest: Manifest = field(default_factory=Manifest)
    messages: dict[str, int] = field(default_factory=dict)
    subscription_arns: dict[tuple[str, str], str] = field(default_factory=dict)
    bindings: dict[tuple[str, str], int] = field(default_factory=dict)
    mapping_ids: dict[tuple[str, str], str] = field(default_factory=dict)
    bus_arns: dict[str, str] = field(default_factory=dict)
    bus_bindings: dict[tuple[str, str], int] = field(default_factory=dict)
    bus_events: dict[str, int] = field(default_factory=dict)
    subscriber_arns: dict[tuple[str, str], str] = field(default_factory=dict)
    destination_arns: dict[str, str] = field(default_factory=dict)


def read_pages(rest: Rest, path: str, member: str) -> Iterator[object]:
    """Yields the rows of all pages of a list."""
    following: object = None
    while True:
        page = rest.call("GET", path, next=following)
        rows = page[member]
        yield from rows if isinstance(rows, list) else ()
        if not (following := page.get("next")):
            return
