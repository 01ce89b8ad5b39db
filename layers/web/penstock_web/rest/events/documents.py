"""Defines documents of /v1/events that only the REST API has."""

from typing import Final

import msgspec

from penstock.documents.decoding import build_exactly_one_of
from penstock.management.bindings import EventSubscription

ONE_ENDPOINT: Final = msgspec.Meta(extra_json_schema=build_exactly_one_of("queue_name", "endpoint"))


class Matched(msgspec.Struct):
    """Lists the bindings that an event would reach."""

    subscriptions: list[EventSubscription]
