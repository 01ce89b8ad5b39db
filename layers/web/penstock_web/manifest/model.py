"""Defines the parts of penstock.yaml. If a member is missing in the file, `apply` does not change the service's value.
If the member is `null`, `apply` removes the value. SQS, SNS and /v1/schedules check limits and set defaults.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field, json

from penstock.endpoint import mask_password
from penstock.event_sources.checks import DEFAULT_BATCH
from penstock.events.connections import AuthorizationType
from penstock.management.api_destinations import Method, Rate
from penstock.management.mappings import BatchSize, Concurrency, Function, WindowSeconds
from penstock.management.schedules.types import NewSchedule

Value = str | int | bool
Document = dict[str, object]
"""A JSON object, such as an access policy or a filter policy."""


class DeadLetterTarget(Struct, forbid_unknown_fields=True):
    """The dead-letter queue of a queue. `queue` is an ARN, or the name of a queue in the file or at the service."""

    queue: str
    max_receives: Annotated[int, Meta(ge=1, le=1_000)]


class EventBinding(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A binding, through which a queue or an event bus receives routed events. `pattern` selects routing keys, such as
    `orders.*`. `filter` is a filter policy for event bodies.
    """

    pattern: str
    filter: Document | None = None


class ManifestMapping(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A mapping, through which the queue invokes a function. `function` is a name, an ARN or a URL. All other members
    have the meaning that they have in `POST /v1/mappings`.
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
    """A queue. `attributes` contains attributes of SQS, and `archive`, `archive_seconds`, `history` and `paused`."""

    attributes: dict[str, Value] = field(default_factory=dict)
    dead_letters: DeadLetterTarget | UnsetType | None = UNSET
    dead_letters_from: list[str] | Literal["all", "none"] | UnsetType | None = UNSET
    policy: Document | UnsetType | None = UNSET
    tags: dict[str, str] | UnsetType = UNSET
    events: list[EventBinding] | UnsetType = UNSET
    mappings: list[ManifestMapping] | UnsetType = UNSET


class ManifestSubscription(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The subscription of a queue or an HTTP(S) URL to a topic. The server at the URL must confirm the subscription.
    `replay` is the ReplayPolicy of SNS, for a FIFO topic with an ArchivePolicy.
    """

    queue: str | None = None
    url: str | None = None
    filter: Document | None = None
    filter_on: Literal["attributes", "body"] = "attributes"
    raw: bool = False
    dead_letters: str | None = None
    replay: Document | None = None

    def __post_init__(self) -> None:
        """Raises ValueError unless exactly one destination is given."""
        if (self.queue is None) == (self.url is None):
            raise ValueError("a subscription must have either a queue or a url")

    @property
    def destination(self) -> str:
        """Returns the destination, which identifies a subscription of the topic. Like the service, masks a password in
        a URL.
        """
        return self.queue or mask_password(self.url or "")


class ManifestTopic(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A topic. `attributes` contains attributes of SNS."""

    attributes: dict[str, Value] = field(default_factory=dict)
    policy: Document | UnsetType | None = UNSET
    tags: dict[str, str] | UnsetType = UNSET
    subscriptions: list[ManifestSubscription] | UnsetType = UNSET


class ManifestSubscriber(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A subscriber of an event bus. `target` is an ARN, or `api-destination/NAME`. `filters` has an event pattern for
    each scope. `configuration` has other members of CreateSubscriber by AWS's names, such as `RetryPolicy`. In ARNs,
    `${account}` and `${region}` are replaced.
    """

    target: str
    type: Literal["FIFO", "UNORDERED"] = "UNORDERED"
    stopped: bool = False
    filters: dict[Literal["DATA", "METADATA", "SYSTEM_METADATA"], Document] | UnsetType = UNSET
    configuration: Document = field(default_factory=dict)
    tags: dict[str, str] | UnsetType = UNSET


class ManifestBus(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An event bus, the subscribers of this account, and the bindings through which the bus receives routed events."""

    retention_days: Annotated[int, Meta(ge=1, le=365)] | UnsetType = UNSET
    description: str | UnsetType = UNSET
    tags: dict[str, str] | UnsetType = UNSET
    subscribers: dict[str, ManifestSubscriber] | UnsetType = UNSET
    events: list[EventBinding] | UnsetType = UNSET


class ManifestConnection(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A connection of API destinations. `auth_parameters` has the members of AuthParameters in CreateConnection, by
    AWS's names. `${env:NAME}` stands for an environment variable.
    """

    authorization_type: AuthorizationType
    auth_parameters: Document
    description: str | UnsetType = UNSET


class ManifestApiDestination(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An API destination, with the members of `POST /v1/api-destinations`."""

    connection: str
    invocation_endpoint: str
    http_method: Method = "POST"
    invocation_rate_limit_per_second: Rate | UnsetType = UNSET
    description: str | UnsetType = UNSET


class ManifestUser(Struct, forbid_unknown_fields=True):
    """A user. Each policy is `read`, `operate`, `admin` or a policy document. `penstock keys create` creates the user's
    keys.
    """

    policies: list[str | Document]


class Manifest(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The whole file. A schedule has the same members as the body of `POST /v1/schedules`, except `name`."""

    queues: dict[str, ManifestQueue] = field(default_factory=dict)
    topics: dict[str, ManifestTopic] = field(default_factory=dict)
    schedules: dict[str, Document] = field(default_factory=dict)
    connections: dict[str, ManifestConnection] = field(default_factory=dict)
    api_destinations: dict[str, ManifestApiDestination] = field(default_factory=dict)
    buses: dict[str, ManifestBus] = field(default_factory=dict)
    users: dict[str, ManifestUser] = field(default_factory=dict)


SECTIONS: Final = {
    "queues": ManifestQueue,
    "topics": ManifestTopic,
    "schedules": Document,
    "connections": ManifestConnection,
    "api_destinations": ManifestApiDestination,
    "buses": ManifestBus,
    "users": ManifestUser,
}


def build_schema(kind: object) -> Document:
    """Returns the JSON Schema of a part of the file."""
    schema: Document = json.schema(kind, schema_hook=_any_value)
    return schema


def json_schema() -> Document:
    """Returns the JSON Schema (draft 2020-12) of the whole file, for editors."""
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
    """Returns a schema that allows any JSON value."""
    del kind
    return {"description": "any JSON value"}
