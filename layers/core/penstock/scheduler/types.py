"""Defines the requests and results of EventBridge Scheduler, with the members of botocore's model
`scheduler/2021-06-30`.

A member without a default is required. The limits come from the model. `aws/codec/rest_json.py` checks the limits and
returns violations in AWS's format. Times are seconds since 1970, with fractions.
"""

from typing import Annotated, Literal

from msgspec import Meta

from penstock.aws.codec.names import RestMessage, Unsupported, in_path, in_query
from penstock.events.shapes import MetadataKey, MetadataValue

# --- texts and numbers -----------------------------------------------------------------------------------------------
_NAME = r"[0-9a-zA-Z-_.]+"
Name = Annotated[str, Meta(min_length=1, max_length=64, pattern=_NAME)]
ClientToken = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"[a-zA-Z0-9-_]+")]
Expression = Annotated[str, Meta(min_length=1, max_length=256)]
Timezone = Annotated[str, Meta(min_length=1, max_length=50)]
Description = Annotated[str, Meta(min_length=0, max_length=512)]
KmsKeyArn = Annotated[
    str,
    Meta(min_length=1, max_length=2048, pattern=r"arn:aws[a-z-]*:kms:[a-z0-9\-]+:\d{12}:(key|alias)\/[0-9a-zA-Z-_]*"),
]
TargetArn = Annotated[str, Meta(min_length=1, max_length=1600)]
RoleArn = Annotated[str, Meta(min_length=1, max_length=1600, pattern=r"arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@\/-]+")]
DeadLetterArn = Annotated[
    str, Meta(min_length=1, max_length=1600, pattern=r"arn:aws[a-z-]*:sqs:[a-z0-9\-]+:\d{12}:[a-zA-Z0-9\-_]+")
]
GroupArn = Annotated[
    str,
    Meta(
        min_length=1, max_length=1011, pattern=rf"arn:aws[a-z-]*:scheduler:[a-z0-9\-]+:\d{{12}}:schedule-group\/{_NAME}"
    ),
]
NextToken = Annotated[str, Meta(min_length=1, max_length=2048)]
MaxResults = Annotated[int, Meta(ge=1, le=100)]
TagKey = Annotated[str, Meta(min_length=1, max_length=128)]
TagValue = Annotated[str, Meta(min_length=1, max_length=256)]
EventSource = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=256,
        pattern=r"(?=[/\.\-_A-Za-z0-9]+)((?!aws\.).*)|(\$(\.[\w_-]+(\[(\d+|\*)\])*)*)",
    ),
]

State = Literal["ENABLED", "DISABLED"]
Completion = Literal["NONE", "DELETE"]


# --- parts -----------------------------------------------------------------------------------------------------------
class FlexibleTimeWindow(RestMessage):
    mode: Literal["OFF", "FLEXIBLE"]
    maximum_window_in_minutes: Annotated[int, Meta(ge=1, le=1440)] | None = None


class DeadLetterConfig(RestMessage):
    arn: DeadLetterArn | None = None


class RetryPolicy(RestMessage):
    maximum_event_age_in_seconds: Annotated[int, Meta(ge=60, le=86_400)] | None = None
    maximum_retry_attempts: Annotated[int, Meta(ge=0, le=185)] | None = None


class SqsParameters(RestMessage):
    message_group_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None


class EventBridgePutEventsV2Parameters(RestMessage):
    """The event that PutEvents publishes on an event bus. Its Detail is the Input."""

    detail_type: Annotated[str, Meta(min_length=1, max_length=128)]
    source: EventSource


class EventBridgePutRawEventsParameters(RestMessage):
    """The event that PutRawEvents publishes on an event bus. Its Data is the Input."""

    metadata: Annotated[dict[MetadataKey, MetadataValue], Meta(min_length=0, max_length=100)] | None = None


class Target(RestMessage):
    """The target of a schedule.

    Parameters for targets that Penstock does not have are untyped, and Penstock refuses them.
    """

    arn: TargetArn
    role_arn: RoleArn
    dead_letter_config: DeadLetterConfig | None = None
    retry_policy: RetryPolicy | None = None
    input: Annotated[str, Meta(min_length=1)] | None = None
    ecs_parameters: Unsupported = None
    event_bridge_parameters: Unsupported = None
    event_bridge_put_events_v2_parameters: EventBridgePutEventsV2Parameters | None = None
    event_bridge_put_raw_events_parameters: EventBridgePutRawEventsParameters | None = None
    kinesis_parameters: Unsupported = None
    sage_maker_pipeline_parameters: Unsupported = None
    sqs_parameters: SqsParameters | None = None


class TargetSummary(RestMessage):
    arn: TargetArn


class Tag(RestMessage):
    key: TagKey
    value: TagValue


Tags = Annotated[list[Tag], Meta(min_length=0, max_length=200)]


# --- schedules -------------------------------------------------------------------------------------------------------
class CreateScheduleRequest(RestMessage):
    name: Annotated[Name, in_path()]
    schedule_expression: Expression
    target: Target
    flexible_time_window: FlexibleTimeWindow
    group_name: Name | None = None
    start_date: float | None = None
    end_date: float | None = None
    description: Description | None = None
    schedule_expression_timezone: Timezone | None = None
    state: State | None = None
    kms_key_arn: KmsKeyArn | None = None
    client_token: ClientToken | None = None
    action_after_completion: Completion | None = None


class CreateScheduleResult(RestMessage):
    schedule_arn: str


class UpdateScheduleRequest(CreateScheduleRequest):
    pass


class UpdateScheduleResult(RestMessage):
    schedule_arn: str


class GetScheduleRequest(RestMessage):
    name: Annotated[Name, in_path()]
    group_name: Annotated[Name | None, in_query("groupName")] = None


class GetScheduleResult(RestMessage):
    arn: str | None = None
    group_name: str | None = None
    name: str | None = None
    schedule_expression: str | None = None
    start_date: float | None = None
    end_date: float | None = None
    description: str | None = None
    schedule_expression_timezone: str | None = None
    state: str | None = None
    creation_date: float | None = None
    last_modification_date: float | None = None
    kms_key_arn: str | None = None
    target: Target | None = None
    flexible_time_window: FlexibleTimeWindow | None = None
    action_after_completion: str | None = None


class DeleteScheduleRequest(RestMessage):
    name: Annotated[Name, in_path()]
    group_name: Annotated[Name | None, in_query("groupName")] = None
    client_token: Annotated[ClientToken | None, in_query("clientToken")] = None


class ListSchedulesRequest(RestMessage):
    group_name: Annotated[Name | None, in_query("ScheduleGroup")] = None
    name_prefix: Annotated[Name | None, in_query("NamePrefix")] = None
    state: Annotated[State | None, in_query("State")] = None
    next_token: Annotated[NextToken | None, in_query("NextToken")] = None
    max_results: Annotated[MaxResults | None, in_query("MaxResults")] = None


class ScheduleSummary(RestMessage):
    arn: str | None = None
    name: str | None = None
    group_name: str | None = None
    state: str | None = None
    creation_date: float | None = None
    last_modification_date: float | None = None
    target: TargetSummary | None = None


class ListSchedulesResult(RestMessage):
    schedules: list[ScheduleSummary]
    next_token: str | None = None


# --- groups ----------------------------------------------------------------------------------------------------------
class CreateScheduleGroupRequest(RestMessage):
    name: Annotated[Name, in_path()]
    tags: Tags | None = None
    client_token: ClientToken | None = None


class CreateScheduleGroupResult(RestMessage):
    schedule_group_arn: str


class GetScheduleGroupRequest(RestMessage):
    name: Annotated[Name, in_path()]


class ScheduleGroupSummary(RestMessage):
    arn: str | None = None
    name: str | None = None
    state: str | None = None
    creation_date: float | None = None
    last_modification_date: float | None = None


class GetScheduleGroupResult(ScheduleGroupSummary):
    pass


class DeleteScheduleGroupRequest(RestMessage):
    name: Annotated[Name, in_path()]
    client_token: Annotated[ClientToken | None, in_query("clientToken")] = None


class ListScheduleGroupsRequest(RestMessage):
    name_prefix: Annotated[Name | None, in_query("NamePrefix")] = None
    next_token: Annotated[NextToken | None, in_query("NextToken")] = None
    max_results: Annotated[MaxResults | None, in_query("MaxResults")] = None


class ListScheduleGroupsResult(RestMessage):
    schedule_groups: list[ScheduleGroupSummary]
    next_token: str | None = None


# --- tags ------------------------------------------------------------------------------------------------------------
class TagResourceRequest(RestMessage):
    resource_arn: Annotated[GroupArn, in_path()]
    tags: Tags


class UntagResourceRequest(RestMessage):
    resource_arn: Annotated[GroupArn, in_path()]
    tag_keys: Annotated[list[TagKey], Meta(min_length=0, max_length=200), in_query("TagKeys")]


class ListTagsForResourceRequest(RestMessage):
    resource_arn: Annotated[GroupArn, in_path()]


class ListTagsForResourceResult(RestMessage):
    tags: list[Tag] | None = None
