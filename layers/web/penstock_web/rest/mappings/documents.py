"""Documents of /v1/mappings. Limits are those of CreateEventSourceMapping, whose operations check what is not here."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from penstock.event_sources.checks import DEFAULT_BATCH, MOST_FILTERS

Filter = dict[str, msgspec.Raw]
Queue = Annotated[str, Meta(min_length=1, max_length=2_048)]
Function = Annotated[str, Meta(min_length=1, max_length=256)]
BatchSize = Annotated[int, Meta(ge=1, le=10_000)]
WindowSeconds = Annotated[int, Meta(ge=0, le=300)]
Concurrency = Annotated[int, Meta(ge=2, le=1_000)]
Filters = Annotated[list[Filter], Meta(max_length=MOST_FILTERS)]
State = Literal["enabled", "disabled"]


class NewMapping(Struct, forbid_unknown_fields=True):
    """A mapping to make: which function, or URL, gets the messages of a queue of the account.

    `window_secs`: how long a batch gathers messages. `max_concurrency`: invocations at once; null: 5.
    `filters`: patterns any of which a message has to match. `report_failures`: the function's answer names the
    messages that failed.
    """

    queue: Queue
    function: Function
    enabled: bool = True
    batch_size: BatchSize = DEFAULT_BATCH
    window_secs: WindowSeconds = 0
    max_concurrency: Concurrency | None = None
    filters: Filters = []
    report_failures: bool = False
    tags: dict[str, str] = {}


class MappingPatch(Struct, forbid_unknown_fields=True):
    """Changes of a mapping; absent members stay as they are. `filters` and `tags` are replaced as a whole."""

    function: Function | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    batch_size: BatchSize | UnsetType = UNSET
    window_secs: WindowSeconds | UnsetType = UNSET
    max_concurrency: Concurrency | UnsetType | None = UNSET
    filters: Filters | UnsetType = UNSET
    report_failures: bool | UnsetType = UNSET
    tags: dict[str, str] | UnsetType = UNSET


class ShownMapping(Struct):
    """A mapping. `reason`: why it is in its state. `last_result`: what became of the last batch, `OK` or `PROBLEM: …`.

    `function`: an ARN, or a URL. `user`: whose rights count; null: the account's. `invocations`: in all, up to
    20 seconds ago; `failing_since`: the first failure since the last success.
    """

    id: str
    queue: str
    function: str
    state: State
    reason: str
    last_result: str
    batch_size: int
    window_secs: int
    max_concurrency: int | None
    filters: list[Filter]
    report_failures: bool
    tags: dict[str, str]
    user: str | None
    updated_at: str
    invocations: int
    failed_invocations: int
    failing_since: str | None


class MappingList(Struct, omit_defaults=True):
    """Mappings by id, 100 a page; `next` asks for the following page."""

    mappings: list[ShownMapping]
    next: str | None = None


new_mapping = msgspec.json.Decoder(NewMapping)
mapping_patch = msgspec.json.Decoder(MappingPatch)
