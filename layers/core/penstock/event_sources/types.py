"""Requests and results of event source mappings, with the members of botocore's model `lambda/2015-03-31`.

A member without a default is required. The limits come from the model. `aws/codec/rest_json.py` checks the limits and
returns violations in AWS's format. Members that do not apply to queues are untyped, and Penstock refuses them.
"""

from typing import Annotated, Literal

from msgspec import Meta, field

from penstock.aws.codec.names import RestMessage, Unsupported, in_path, in_query

Uuid = Annotated[str, Meta(min_length=36, max_length=36)]
QueueArn = Annotated[str, Meta(max_length=10_000)]
FunctionName = Annotated[str, Meta(min_length=1, max_length=256)]
Resource = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=10_000,
        pattern=(  # the expression as AWS's error quotes it
            r"arn:(aws[a-zA-Z-]*):lambda:(eusc-)?[a-z]{2}((-gov)|(-iso([a-z]?)))?-[a-z]+-\d{1}:\d{12}:"
            r"(function:[a-zA-Z0-9-_]+(:(\$LATEST|[a-zA-Z0-9-_]+))?|layer:([a-zA-Z0-9-_]+)"
            r"|code-signing-config:csc-[a-z0-9]{17}"
            r"|event-source-mapping:[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
            r"|capacity-provider:[a-zA-Z0-9-_]+)"
        ),
    ),
]
ResponseType = Literal["ReportBatchItemFailures"]
Metric = Literal["EventCount", "ErrorCount", "KafkaMetrics"]
KeyArn = Annotated[str, Meta(max_length=10_000, pattern=r"(arn:(aws[a-zA-Z-]*)?:[a-z0-9-.]+:.*)|()")]
MAX_PATTERN_LENGTH = 4_096


# --- parts -----------------------------------------------------------------------------------------------------------
class Filter(RestMessage):
    pattern: Annotated[str, Meta(max_length=MAX_PATTERN_LENGTH)] | None = None


class FilterCriteria(RestMessage):
    filters: list[Filter] | None = None


class ScalingConfig(RestMessage):
    maximum_concurrency: Annotated[int, Meta(ge=2, le=1000)] | None = None


class ProvisionedPollerConfig(RestMessage):
    """The provisioned mode. Penstock stores the value, but the value has no effect."""

    minimum_pollers: Annotated[int, Meta(ge=1, le=200)] | None = None
    maximum_pollers: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    poller_group_name: Annotated[str, Meta(max_length=128, pattern="[a-zA-Z0-9-_]*")] | None = None


class MetricsConfig(RestMessage):
    """The metrics that AWS would produce. Penstock stores the value, but the value has no effect."""

    metrics: Annotated[list[Metric], Meta(min_length=0, max_length=3)] | None = None


class Options(RestMessage):
    """Members that a client can set when it creates or updates a mapping. The last three members have no effect."""

    batch_size: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    filter_criteria: FilterCriteria | None = None
    maximum_batching_window_in_seconds: Annotated[int, Meta(ge=0, le=300)] | None = None
    scaling_config: ScalingConfig | None = None
    function_response_types: Annotated[list[ResponseType], Meta(min_length=0, max_length=1)] | None = None
    provisioned_poller_config: ProvisionedPollerConfig | None = None
    metrics_config: MetricsConfig | None = None
    kms_key_arn: KeyArn | None = field(default=None, name="KMSKeyArn")


class ChangeRequest(Options):
    """Members of both the create and the update request."""

    enabled: bool | None = None
    logging_config: Unsupported = None
    parallelization_factor: Unsupported = None
    destination_config: Unsupported = None
    maximum_record_age_in_seconds: Unsupported = None
    bisect_batch_on_function_error: Unsupported = None
    maximum_retry_attempts: Unsupported = None
    tumbling_window_in_seconds: Unsupported = None
    source_access_configurations: Unsupported = None
    amazon_managed_kafka_event_source_config: Unsupported = None
    self_managed_kafka_event_source_config: Unsupported = None
    document_db_event_source_config: Unsupported = field(default=None, name="DocumentDBEventSourceConfig")


# --- mappings --------------------------------------------------------------------------------------------------------
class CreateEventSourceMappingRequest(ChangeRequest, kw_only=True):
    function_name: FunctionName
    event_source_arn: QueueArn | None = None
    tags: dict[str, str] | None = None
    starting_position: Unsupported = None
    starting_position_timestamp: Unsupported = None
    topics: Unsupported = None
    queues: Unsupported = None
    self_managed_event_source: Unsupported = None


class UpdateEventSourceMappingRequest(ChangeRequest, kw_only=True):
    uuid: Annotated[Uuid, in_path()] = field(name="UUID")
    function_name: FunctionName | None = None


class GetEventSourceMappingRequest(RestMessage):
    uuid: Annotated[Uuid, in_path()] = field(name="UUID")


class DeleteEventSourceMappingRequest(RestMessage):
    uuid: Annotated[Uuid, in_path()] = field(name="UUID")


class ListEventSourceMappingsRequest(RestMessage):
    event_source_arn: Annotated[QueueArn | None, in_query("EventSourceArn")] = None
    function_name: Annotated[FunctionName | None, in_query("FunctionName")] = None
    marker: Annotated[str | None, in_query("Marker")] = None
    max_items: Annotated[Annotated[int, Meta(ge=1, le=10_000)] | None, in_query("MaxItems")] = None


class EventSourceMapping(Options, kw_only=True):
    """A mapping in the API's format."""

    uuid: str = field(name="UUID")
    event_source_arn: str
    function_arn: str
    last_modified: float
    state: str
    state_transition_reason: str
    event_source_mapping_arn: str


class ListEventSourceMappingsResult(RestMessage):
    event_source_mappings: list[EventSourceMapping]
    next_marker: str | None = None


# --- tags ------------------------------------------------------------------------------------------------------------
class ListTagsRequest(RestMessage):
    resource: Annotated[Resource, in_path()]


class ListTagsResult(RestMessage):
    tags: dict[str, str]


class TagResourceRequest(RestMessage):
    resource: Annotated[Resource, in_path()]
    tags: dict[str, str]


class UntagResourceRequest(RestMessage):
    resource: Annotated[Resource, in_path()]
    tag_keys: Annotated[list[str], in_query("tagKeys")]
