"""Event source mappings: the operations of AWS Lambda's API, with names instead of ARNs."""

from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from penstock.context import Context
from penstock.documents.decoding import build_reader
from penstock.documents.queue_names import build_queue_arn
from penstock.effects import Call, Operation
from penstock.errors import InvalidParameterValue
from penstock.event_sources import checks
from penstock.event_sources import operations as mappings
from penstock.event_sources import types as aws
from penstock.event_sources.batches import StoredMapping
from penstock.event_sources.batches import read_mapping as read_mapping_row
from penstock.event_sources.checks import DEFAULT_BATCH, MAX_FILTERS
from penstock.event_sources.event import build_message_attributes
from penstock.event_sources.filters import compile_filters, encode_facts
from penstock.postgres.statements.mappings import FILTER_MESSAGES, LIST_TROUBLED_MAPPINGS

from .rights import needs, show
from .subscriptions import FilterSample

Filter = dict[str, msgspec.Raw]
Queue = Annotated[str, Meta(min_length=1, max_length=2_048)]
Function = Annotated[str, Meta(min_length=1, max_length=256)]
BatchSize = Annotated[int, Meta(ge=1, le=10_000)]
WindowSeconds = Annotated[int, Meta(ge=0, le=300)]
Concurrency = Annotated[int, Meta(ge=2, le=1_000)]
Filters = Annotated[list[Filter], Meta(max_length=MAX_FILTERS)]
State = Literal["enabled", "disabled"]


class NewMapping(Struct, forbid_unknown_fields=True):
    """A new mapping from a queue of the account to a function or URL.

    `window_secs` is the time for which a batch collects messages. `max_concurrency` is the maximum number of concurrent
    invocations; null means 5. A message must match one of the patterns in `filters`. `report_failures` means that the
    function's response names the messages that failed.
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
    """Changes of a mapping. Absent members stay unchanged. A change replaces all `filters` or all `tags`."""

    function: Function | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    batch_size: BatchSize | UnsetType = UNSET
    window_secs: WindowSeconds | UnsetType = UNSET
    max_concurrency: Concurrency | UnsetType | None = UNSET
    filters: Filters | UnsetType = UNSET
    report_failures: bool | UnsetType = UNSET
    tags: dict[str, str] | UnsetType = UNSET


class ShownMapping(Struct):
    """A mapping. `reason` explains the mapping's state. `last_result` is the result of the last batch: `OK` or
    `PROBLEM: …`.

    `function` is an ARN or a URL. The mapping has the permissions of `user`, or of the account if `user` is null.
    `invocations` is the total, which can lag by 20 seconds. `failing_since` is the time of the first failure after the
    last success.
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
    """Mappings in the order of their ids, up to 100 on a page. `next` requests the next page."""

    mappings: list[ShownMapping]
    next: str | None = None


read_mapping = build_reader(NewMapping)
_json = msgspec.json.Encoder()
_pattern_of = msgspec.json.Decoder(Filter)


@needs("mappings", "lambda:CreateEventSourceMapping")
def create_mapping(new: NewMapping, context: Context) -> Operation[ShownMapping]:
    """Creates a mapping, which is active at once. Raises the errors of CreateEventSourceMapping."""
    checks.check_served(context)
    return show_mapping((yield from mappings.create(create_request(new, _name_queue(new.queue, context)), context)))


@needs("mappings", "lambda:ListEventSourceMappings", "lambda:ListTags")
def list_mappings(
    queue: str | None, function: str | None, after: str | None, context: Context
) -> Operation[MappingList]:
    """Returns a page of the account's mappings. `queue` and `function` limit the list."""
    checks.check_served(context)
    request = aws.ListEventSourceMappingsRequest(
        event_source_arn=None if queue is None else _name_queue(queue, context), function_name=function, marker=after
    )
    found, following = yield from mappings.read_page(request, context)
    return MappingList([show_mapping(mapping) for mapping in found], following)


@needs("mappings", "lambda:ListEventSourceMappings", "lambda:ListTags")
def list_troubled_mappings(queue: str | None, limit: int, context: Context) -> Operation[list[ShownMapping]]:
    """Returns up to `limit` mappings that fail, or that the service stopped. `queue` limits the list."""
    checks.check_served(context)
    arn = None if queue is None else _name_queue(queue, context)
    rows = yield from Call(LIST_TROUBLED_MAPPINGS, (context.account_id, context.region, arn, limit))
    return [show_mapping(read_mapping_row(row.mapping)) for row in rows]


@needs("mapping", "lambda:GetEventSourceMapping", "lambda:ListTags")
def describe_mapping(mapping_id: str, context: Context) -> Operation[ShownMapping]:
    """Returns a mapping. Raises ResourceNotFoundException."""
    checks.check_served(context)
    return show_mapping((yield from mappings.read(mapping_id, context)))


@needs("mapping", "lambda:UpdateEventSourceMapping", "lambda:TagResource", "lambda:UntagResource")
def change_mapping(mapping_id: str, patch: MappingPatch, context: Context) -> Operation[ShownMapping | None]:
    """Changes the given members. Unless only tags change, the mapping then has the caller's permissions.

    Raises the errors of UpdateEventSourceMapping.
    """
    return (yield from _change(mapping_id, patch, context))


@needs("mapping", "lambda:UpdateEventSourceMapping")
def change_mapping_settings(
    mapping_id: str, patch: MappingPatch, version: str, context: Context
) -> Operation[ShownMapping | None]:
    """Changes members other than tags. `version` is the `updated_at` that the caller has read, or empty.

    Raises InvalidParameterValue if the mapping has changed since, and the errors of UpdateEventSourceMapping.
    """
    stored = yield from mappings.read(mapping_id, context)
    if version not in ("", _format_time(stored.updated_at)):
        raise InvalidParameterValue("Another user has changed the mapping in the meantime.")
    function = UNSET if patch.function == stored.function_arn else patch.function
    return (yield from _change(mapping_id, msgspec.structs.replace(patch, function=function, tags=UNSET), context))


@needs("mapping", "lambda:UpdateEventSourceMapping")
def set_mapping_state(mapping_id: str, *, enabled: bool, context: Context) -> Operation[ShownMapping | None]:
    """Enables or disables a mapping, which needs no permission for tags. Raises the errors of
    UpdateEventSourceMapping."""
    return (yield from _change(mapping_id, MappingPatch(enabled=enabled), context))


def _change(mapping_id: str, patch: MappingPatch, context: Context) -> Operation[ShownMapping | None]:
    checks.check_served(context)
    given = msgspec.structs.asdict(patch)
    changed = {name: value for name, value in given.items() if value is not msgspec.UNSET}
    tags = changed.pop("tags", None)
    if tags is not None:
        checks.check_tags(tags)
    if changed or tags is None:
        yield from mappings.update(_update_request(mapping_id, patch), context)
    if tags is not None:
        old = yield from mappings.read(mapping_id, context)
        arn = mappings.build_arn(old)
        yield from mappings.change_tags(arn, tags, sorted(old.tags.keys() - tags.keys()), context)
    return (yield from show(describe_mapping(mapping_id, context)))


@needs("mapping", "lambda:DeleteEventSourceMapping")
def delete_mapping(mapping_id: str, context: Context) -> Operation[None]:
    """Deletes a mapping. Raises ResourceNotFoundException."""
    checks.check_served(context)
    yield from mappings.drop(aws.DeleteEventSourceMappingRequest(uuid=mapping_id), context)


def passes_filters(patterns: list[str], sample: FilterSample) -> Operation[bool]:
    """Returns whether a message matches at least one pattern. The mapping need not exist. The sample has a body and
    attributes, but no other members of a function's record. Raises InvalidParameterValueException.
    """
    compiled = compile_filters(aws.FilterCriteria([aws.Filter(pattern) for pattern in patterns]))
    if compiled is None:
        return True
    record = {"body": sample.body, "messageAttributes": build_message_attributes(sample.attributes)}
    policies = [_json.encode(policy).decode() for policy in compiled]
    found = [fact.decode() for fact in encode_facts([record])]
    return bool((yield from Call(FILTER_MESSAGES, (policies, found))))


def show_mapping(mapping: StoredMapping) -> ShownMapping:
    options = mapping.options
    scaling, criteria = options.scaling_config, options.filter_criteria
    filters = (criteria.filters if criteria is not None else None) or []
    return ShownMapping(
        id=str(mapping.mapping_id),
        queue=mapping.queue_arn.rpartition(":")[2],
        function=mapping.function_arn,
        state="enabled" if mapping.enabled else "disabled",
        reason=mapping.reason,
        last_result=mapping.last_result,
        batch_size=mapping.batch_size,
        window_secs=mapping.window_seconds,
        max_concurrency=scaling.maximum_concurrency if scaling is not None else None,
        filters=[_pattern_of.decode(given.pattern or "{}") for given in filters],
        report_failures=mapping.reports_items,
        tags=mapping.tags,
        user=mapping.user_name,
        updated_at=_format_time(mapping.updated_at),
        invocations=mapping.invocations,
        failed_invocations=mapping.failed_invocations,
        failing_since=None if mapping.failing_since is None else _format_time(mapping.failing_since),
    )


def create_request(new: NewMapping, queue_arn: str) -> aws.CreateEventSourceMappingRequest:
    """Returns the request for AWS's API. Raises InvalidParameterValueException."""
    return aws.CreateEventSourceMappingRequest(
        function_name=new.function,
        event_source_arn=queue_arn,
        enabled=new.enabled,
        batch_size=new.batch_size,
        maximum_batching_window_in_seconds=new.window_secs,
        scaling_config=_build_scaling(new.max_concurrency),
        filter_criteria=_build_criteria(new.filters),
        function_response_types=_list_response_types(new.report_failures),
        tags=new.tags,
    )


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _update_request(mapping_id: str, patch: MappingPatch) -> aws.UpdateEventSourceMappingRequest:
    request = aws.UpdateEventSourceMappingRequest(uuid=mapping_id)
    if patch.function is not msgspec.UNSET:
        request.function_name = patch.function
    if patch.enabled is not msgspec.UNSET:
        request.enabled = patch.enabled
    if patch.batch_size is not msgspec.UNSET:
        request.batch_size = patch.batch_size
    if patch.window_secs is not msgspec.UNSET:
        request.maximum_batching_window_in_seconds = patch.window_secs
    if patch.max_concurrency is not msgspec.UNSET:
        request.scaling_config = aws.ScalingConfig(patch.max_concurrency)
    if patch.filters is not msgspec.UNSET:
        request.filter_criteria = _build_criteria(patch.filters)
    if patch.report_failures is not msgspec.UNSET:
        request.function_response_types = _list_response_types(patch.report_failures)
    return request


def _build_scaling(concurrency: int | None) -> aws.ScalingConfig | None:
    return None if concurrency is None else aws.ScalingConfig(concurrency)


def _build_criteria(filters: list[Filter]) -> aws.FilterCriteria:
    return aws.FilterCriteria([aws.Filter(_build_pattern(pattern)) for pattern in filters])


def _build_pattern(pattern: Filter) -> str:
    text = _json.encode(pattern).decode()
    checks.check_pattern(text)
    return text


def _list_response_types(reports: bool) -> list[aws.ResponseType]:
    return ["ReportBatchItemFailures"] if reports else []


def _name_queue(given: str, context: Context) -> str:
    return given if given.startswith("arn:") else build_queue_arn(given, context)
