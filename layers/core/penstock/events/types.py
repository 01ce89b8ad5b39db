"""Defines the requests and results of the event bus, with the members of botocore's model `eventbridgev2/2025-05-15`.

A member without a default is required. Times are seconds since 1970, with fractions.
"""

from typing import Annotated

from msgspec import Meta

from penstock.aws.codec.names import RestMessage

from . import shapes


# --- buses -----------------------------------------------------------------------------------------------------------
class CreateEventBusRequest(RestMessage):
    name: shapes.Name
    description: shapes.Description | None = None
    encryption_configuration: shapes.EncryptionConfiguration | None = None
    storage_configuration: shapes.StorageConfiguration | None = None
    tags: shapes.Tags | None = None
    client_token: shapes.ClientToken | None = None


class EventBusResult(RestMessage):
    event_bus_arn: str | None = None
    name: str | None = None
    description: str | None = None
    encryption_configuration: shapes.EncryptionConfiguration | None = None
    storage_configuration: shapes.StorageConfigurationOutput | None = None
    state: str | None = None
    state_reason: str | None = None


class CreateEventBusResult(EventBusResult):
    creation_time: float | None = None


class DescribeEventBusRequest(RestMessage):
    event_bus_arn: shapes.EventBusArn


class DescribeEventBusResult(EventBusResult):
    creation_time: float | None = None
    last_modified_time: float | None = None


class UpdateEventBusRequest(RestMessage):
    event_bus_arn: shapes.EventBusArn
    description: shapes.Description | None = None
    encryption_configuration: shapes.EncryptionConfiguration | None = None
    storage_configuration: shapes.StorageConfiguration | None = None


class UpdateEventBusResult(EventBusResult):
    last_modified_time: float | None = None


class DeleteEventBusRequest(RestMessage):
    event_bus_arn: shapes.EventBusArn


class ListEventBusesRequest(RestMessage):
    name_prefix: shapes.Name | None = None
    event_bus_account_id: shapes.AccountId | None = None
    next_token: shapes.NextToken | None = None
    max_results: shapes.MaxResults | None = None


class EventBusSummary(RestMessage):
    name: str | None = None
    event_bus_arn: str | None = None
    description: str | None = None
    creation_time: float | None = None
    last_modified_time: float | None = None
    state: str | None = None
    state_reason: str | None = None
    event_bus_account_id: str | None = None


class ListEventBusesResult(RestMessage):
    event_buses: list[EventBusSummary] | None = None
    next_token: str | None = None


# --- subscribers -----------------------------------------------------------------------------------------------------
class CreateSubscriberRequest(RestMessage):
    name: shapes.Name
    event_bus_arn: shapes.EventBusArn
    invoke_configuration: shapes.InvokeConfiguration
    description: shapes.Description | None = None
    filter_configuration: shapes.FilterConfiguration | None = None
    type: shapes.SubscriberType | None = None
    starting_position: shapes.StartingPosition | None = None
    point_in_time_configuration: shapes.PointInTimeConfiguration | None = None
    batch_configuration: shapes.BatchConfiguration | None = None
    transformer: shapes.Transformer | None = None
    retry_policy: shapes.RetryPolicy | None = None
    on_failure_configuration: shapes.OnFailureConfiguration | None = None
    log_configuration: shapes.LogConfiguration | None = None
    state: shapes.SubscriberState | None = None
    tags: shapes.Tags | None = None
    client_token: shapes.ClientToken | None = None


class SubscriberResult(RestMessage):
    subscriber_arn: str | None = None
    name: str | None = None
    event_bus_arn: str | None = None
    type: str | None = None
    starting_position: str | None = None
    point_in_time_configuration: shapes.PointInTimeConfiguration | None = None
    state: str | None = None


class CreateSubscriberResult(SubscriberResult):
    creation_time: float | None = None


class DescribeSubscriberRequest(RestMessage):
    subscriber_arn: shapes.SubscriberArn


class DescribeSubscriberResult(SubscriberResult):
    invoke_configuration: shapes.InvokeConfiguration | None = None
    description: str | None = None
    filter_configuration: shapes.FilterConfiguration | None = None
    batch_configuration: shapes.BatchConfiguration | None = None
    transformer: shapes.Transformer | None = None
    retry_policy: shapes.RetryPolicy | None = None
    on_failure_configuration: shapes.OnFailureConfiguration | None = None
    log_configuration: shapes.LogConfiguration | None = None
    revoked: bool | None = None
    creation_time: float | None = None
    last_modified_time: float | None = None


class UpdateSubscriberRequest(RestMessage):
    subscriber_arn: shapes.SubscriberArn
    description: shapes.Description | None = None
    state: shapes.SubscriberState | None = None
    resume_position: shapes.ResumePosition | None = None
    invoke_configuration: shapes.UpdateInvokeConfiguration | None = None
    filter_configuration: shapes.FilterConfiguration | None = None
    batch_configuration: shapes.BatchConfiguration | None = None
    transformer: shapes.Transformer | None = None
    retry_policy: shapes.RetryPolicy | None = None
    on_failure_configuration: shapes.OnFailureConfiguration | None = None
    log_configuration: shapes.LogConfiguration | None = None


class UpdateSubscriberResult(SubscriberResult):
    last_modified_time: float | None = None


class DeleteSubscriberRequest(RestMessage):
    subscriber_arn: shapes.SubscriberArn


class ListSubscribersRequest(RestMessage):
    event_bus_arn: shapes.EventBusArn | None = None
    name_prefix: shapes.Name | None = None
    next_token: shapes.NextToken | None = None
    max_results: shapes.MaxResults | None = None


class SubscriberSummary(RestMessage):
    subscriber_arn: str | None = None
    name: str | None = None
    event_bus_arn: str | None = None
    target_arn: str | None = None
    type: str | None = None
    revoked: bool | None = None
    state: str | None = None
    creation_time: float | None = None
    last_modified_time: float | None = None
    subscriber_account_id: str | None = None


class ListSubscribersResult(RestMessage):
    subscribers: list[SubscriberSummary] | None = None
    next_token: str | None = None


# --- event sources ---------------------------------------------------------------------------------------------------
class CreateEventSourceRequest(RestMessage):
    name: shapes.SourceName
    event_bus_arn: shapes.EventBusArn
    configuration: shapes.EventSourceConfiguration
    description: shapes.Description | None = None
    tags: shapes.Tags | None = None
    client_token: shapes.ClientToken | None = None


class EventSourceResult(RestMessage):
    event_source_arn: str | None = None
    name: str | None = None
    event_bus_arn: str | None = None
    state: str | None = None


class CreateEventSourceResult(EventSourceResult):
    event_source_details: shapes.EventSourceDetails | None = None
    creation_time: float | None = None


class DescribeEventSourceRequest(RestMessage):
    event_source_arn: shapes.EventSourceArn


class DescribeEventSourceResult(EventSourceResult):
    configuration: shapes.EventSourceConfiguration | None = None
    description: str | None = None
    revoked: bool | None = None
    event_source_details: shapes.EventSourceDetails | None = None
    creation_time: float | None = None
    last_modified_time: float | None = None


class UpdateEventSourceRequest(RestMessage):
    event_source_arn: shapes.EventSourceArn
    configuration: shapes.EventSourceConfiguration | None = None
    description: shapes.Description | None = None


class UpdateEventSourceResult(EventSourceResult):
    last_modified_time: float | None = None


class DeleteEventSourceRequest(RestMessage):
    event_source_arn: shapes.EventSourceArn


class ListEventSourcesRequest(RestMessage):
    event_bus_arn: shapes.EventBusArn | None = None
    name_prefix: shapes.SourceName | None = None
    next_token: shapes.NextToken | None = None
    max_results: shapes.MaxResults | None = None


class EventSourceSummary(RestMessage):
    event_source_arn: str | None = None
    name: str | None = None
    event_bus_arn: str | None = None
    type: str | None = None
    state: str | None = None
    revoked: bool | None = None
    creation_time: float | None = None
    last_modified_time: float | None = None
    event_source_account_id: str | None = None


class ListEventSourcesResult(RestMessage):
    event_sources: list[EventSourceSummary] | None = None
    next_token: str | None = None


class RotateWebhookCredentialsRequest(RestMessage):
    event_source_arn: shapes.WebhookSourceArn
    credential: shapes.WebhookCredential | None = None
    client_token: shapes.ClientToken | None = None


class RotateWebhookCredentialsResult(RestMessage):
    secret_arn: str


# --- events ----------------------------------------------------------------------------------------------------------
class PutEventsRequest(RestMessage):
    event_bus_arn: shapes.EventBusArn
    entries: Annotated[list[shapes.PutEventsRequestEntry], Meta(min_length=1, max_length=100)]
    deduplication_configuration: shapes.DeduplicationConfiguration | None = None


class PutRawEventsRequest(RestMessage):
    event_bus_arn: shapes.EventBusArn
    entries: Annotated[list[shapes.PutRawEventsRequestEntry], Meta(min_length=1, max_length=100)]
    schema_registry_configuration: shapes.SchemaRegistryConfiguration | None = None
    deduplication_configuration: shapes.DeduplicationConfiguration | None = None


class PutEventsResultEntry(RestMessage):
    """A stored event, or the error of an entry."""

    event_id: str | None = None
    sequence_number: str | None = None
    success_code: str | None = None
    error_code: str | None = None
    error_message: str | None = None


class PutEventsResult(RestMessage):
    """The result of PutEvents and PutRawEvents, with an entry for each entry of the request."""

    failed_entry_count: int | None = None
    entries: list[PutEventsResultEntry] | None = None


# --- policies --------------------------------------------------------------------------------------------------------
class PutResourcePolicyRequest(RestMessage):
    resource_arn: shapes.EventBusArn
    policy_document: shapes.PolicyDocument
    policy_name: shapes.PolicyName | None = None
    expected_revision_id: shapes.PolicyRevision | None = None


class PutResourcePolicyResult(RestMessage):
    resource_arn: str
    policy_name: str
    revision_id: str | None = None


class GetResourcePolicyRequest(RestMessage):
    resource_arn: shapes.EventBusArn
    policy_name: shapes.PolicyName | None = None


class GetResourcePolicyResult(RestMessage):
    resource_arn: str
    policy_document: str
    policy_name: str
    revision_id: str


class DeleteResourcePolicyRequest(RestMessage):
    resource_arn: shapes.EventBusArn
    policy_name: shapes.PolicyName | None = None
    expected_revision_id: shapes.PolicyRevision | None = None


class DeleteResourcePolicyResult(RestMessage):
    revision_id: str | None = None


class ListResourcePoliciesRequest(RestMessage):
    resource_arn: shapes.EventBusArn
    next_token: shapes.NextToken | None = None
    max_results: shapes.MaxResults | None = None


class ResourcePolicySummary(RestMessage):
    policy_name: str
    revision_id: str


class ListResourcePoliciesResult(RestMessage):
    policy_summaries: list[ResourcePolicySummary] | None = None
    next_token: str | None = None


# --- revocation and tags ---------------------------------------------------------------------------------------------
class RevokeResourceRequest(RestMessage):
    arn: shapes.RevocableArn


class RevokeResourceResult(RestMessage):
    arn: str | None = None


class TagResourceRequest(RestMessage):
    resource_arn: shapes.TaggableArn
    tags: Annotated[dict[shapes.TagKey, shapes.TagValue], Meta(min_length=1)]


class UntagResourceRequest(RestMessage):
    resource_arn: shapes.TaggableArn
    tag_keys: Annotated[list[shapes.TagKey], Meta(min_length=1)]


class ListTagsForResourceRequest(RestMessage):
    resource_arn: shapes.TaggableArn


class ListTagsForResourceResult(RestMessage):
    tags: dict[str, str] | None = None
