"""Defines the parts of penstock.yaml. The service keeps members that are left out. `null` removes a member.

SQS, SNS and /v1/schedules check values by their limits and fill in their defaults.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field, json

from penstock.documents.endpoint import mask_password
from penstock.event_sources.checks import DEFAULT_BATCH
from penstock.management.mappings import BatchSize, Concurrency, Function, WindowSeconds
from penstock.management.schedules.types import NewSchedule

Value = str | int | bool
Document = dict[str, object]
"""Represents a JSON object, such as an access policy or a filter policy."""


class DeadLetterTarget(Struct, forbid_unknown_fields=True):
    """Names the destination of messages with too many receives: a queue of the file or the service, or an ARN."""

    queue: str
    max_receives: Annotated[int, Meta(ge=1, le=1_000)]


class EventBinding(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The routed events that a queue gets, chosen by a pattern such as `orders.*` and by a filter policy on their
    bodies.
    """

    pattern: str
    filter: Document | None = None


class ManifestMapping(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A function that the queue triggers, by its name or ARN, or a URL. The other members are those of the body of
    `POST /v1/mappings`.
    """

    function: Function
    enabled: bool = True
    batch_size: BatchSize = DEFAULT_BATCH
    window_secs: WindowSeconds = 0
    max_concurrency: Concurrency | None = None
    filters: list[Document] = field(default_factory=list)
    report_failures: bool = False
    tags: dict[str, str] = field(default_factory=dict)


class ManifestQueue(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A queue. `attributes` have the names of SQS, or are `archive`, `archive_seconds`, `history` and
    `paused`."""

    attributes: dict[str, Value] = field(default_factory=dict)
    dead_letters: DeadLetterTarget | UnsetType | None = UNSET
    dead_letters_from: list[str] | Literal["all", "none"] | UnsetType | None = UNSET
    policy: Document | UnsetType | None = UNSET
    tags: dict[str, str] | UnsetType = UNSET
    events: list[EventBinding] | UnsetType = UNSET
    mappings: list[ManifestMapping] | UnsetType = UNSET


class ManifestSubscription(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The subscriber of a topic: a queue, or a URL of http or https, which has to confirm."""

    queue: str | None = None
    url: str | None = None
    filter: Document | None = None
    filter_on: Literal["attributes", "body"] = "attributes"
    raw: bool = False
    dead_letters: str | None = None

    def __post_init__(self) -> None:
        """Raises ValueError unless there is exactly one destination."""
        if (self.queue is None) == (self.url is None):
            raise ValueError("a subscription has either a queue or a url")

    @property
    def destination(self) -> str:
        """Returns the value that distinguishes this subscription from the topic's other subscriptions, in the service's
        form.
        """
        return self.queue or mask_password(self.url or "")


class ManifestTopic(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A topic. `attributes` have the names of SNS."""

    attributes: dict[str, Value] = field(default_factory=dict)
    policy: Document | UnsetType | None = UNSET
    tags: dict[str, str] | UnsetType = UNSET
    subscriptions: list[ManifestSubscription] | UnsetType = UNSET


class ManifestUser(Struct, forbid_unknown_fields=True):
    """A user with policies: Names a policy (`read`, `operate` or `admin`), or is a policy document. `penstock keys
    create` creates keys.
    """

    policies: list[str | Document]


class Manifest(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The file. A schedule is the body of `POST /v1/schedules` without its name."""

    queues: dict[str, ManifestQueue] = field(default_factory=dict)
    topics: dict[str, ManifestTopic] = field(default_factory=dict)
    schedules: dict[str, Document] = field(default_factory=dict)
    users: dict[str, ManifestUser] = field(default_factory=dict)


SECTIONS: Final = {"queues": ManifestQueue, "topics": ManifestTopic, "schedules": Document, "users": ManifestUser}


def build_schema(kind: object) -> Document:
    """Returns the JSON Schema of a part."""
    schema: Document = json.schema(kind, schema_hook=_any_value)
    return schema


def json_schema() -> Document:
    """Returns the file's JSON Schema (draft 2020-12) for editors."""
    _, parts = json.schema_components((Manifest, NewSchedule), schema_hook=_any_value, ref_template="#/$defs/{name}")
    parts["Manifest"]["properties"]["schedules"]["additionalProperties"] = {"$ref": "#/$defs/NewSchedule"}
    parts["NewSchedule"]["properties"].pop("name")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "penstock.yaml",
        "$ref": "#/$defs/Manifest",
        "$defs": parts,
    }


def _any_value(kind: object) -> Document:
    """Returns the schema of `object` and of JSON that is passed on unchanged."""
    del kind
    return {"description": "any JSON value"}
