r"""Defines the texts, numbers and configurations of the event bus's requests and results, with the limits of botocore's
model `eventbridgev2/2025-05-15`.

`aws/codec/rest_json.py` checks the limits. The patterns are AWS's: `(?![\s\S]).*` after a pattern means its end.
"""

from typing import Annotated, Literal

from msgspec import Meta, field

from penstock.aws.codec.names import RestMessage, Unsupported

# --- ARNs ------------------------------------------------------------------------------------------------------------
_ARN = r"arn:aws(-[a-z0-9]+)*:events:[a-z][a-z0-9]*(-[a-z0-9]+)*:([0-9]{12}):"
_NAME_AND_ID = r"\/[A-Za-z0-9][\.\-_A-Za-z0-9]{0,255}\/[a-z0-9]{25}"
_SOURCE = r"event-sourcev2\/(aws\.service|aws\.partner|webhook)"


EventBusArn = Annotated[str, Meta(min_length=1, max_length=1011, pattern=rf"{_ARN}event-busv2{_NAME_AND_ID}")]
SubscriberArn = Annotated[str, Meta(min_length=1, max_length=1011, pattern=rf"{_ARN}subscriber{_NAME_AND_ID}")]
EventSourceArn = Annotated[str, Meta(min_length=1, max_length=1011, pattern=rf"{_ARN}{_SOURCE}{_NAME_AND_ID}")]
WebhookSourceArn = Annotated[
    str, Meta(min_length=1, max_length=1011, pattern=rf"{_ARN}event-sourcev2\/webhook{_NAME_AND_ID}")
]
RevocableArn = Annotated[
    str, Meta(min_length=1, max_length=1011, pattern=rf"{_ARN}(subscriber|{_SOURCE}){_NAME_AND_ID}")
]
TaggableArn = Annotated[
    str, Meta(min_length=1, max_length=1011, pattern=rf"{_ARN}(event-busv2|subscriber|{_SOURCE}){_NAME_AND_ID}")
]
RoleArn = Annotated[
    str, Meta(min_length=1, max_length=1600, pattern=r"arn:aws(-[a-z0-9]+)*:iam::\d{12}:role\/[\w+=,.@/-]+")
]
TargetArn = Annotated[str, Meta(min_length=1, max_length=1600, pattern=r"arn:aws(-[a-z0-9]+)*:[^\s]+(?![\s\S]).*")]
DeadLetterArn = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1600,
        pattern=r"arn:aws(-[a-z0-9]+)*:sqs:[a-z][a-z0-9]*(-[a-z0-9]+)*:[0-9]{12}:"
        r"([A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}\.fifo)(?![\s\S]).*",
    ),
]

# --- texts and numbers -----------------------------------------------------------------------------------------------
Name = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"[A-Za-z0-9][\.\-_A-Za-z0-9]*")]
SourceName = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"(?!aws\.)[A-Za-z0-9][\.\-_A-Za-z0-9]*")]
Description = Annotated[
    str, Meta(min_length=0, max_length=512, pattern=r"[^\u0000-\u001F\u007F-\u009F\u2028\u2029]*(?![\s\S]).*")
]
KmsKey = Annotated[str, Meta(min_length=0, max_length=2048, pattern=r"[a-zA-Z0-9_\-/:]*")]
RetentionDays = Annotated[int, Meta(ge=1, le=365)]
ClientToken = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"[\u0021-\u007E]+")]
AccountId = Annotated[str, Meta(min_length=12, max_length=12, pattern=r"\d{12}")]
NextToken = Annotated[str, Meta(min_length=1, max_length=4096)]
MaxResults = Annotated[int, Meta(ge=1, le=100)]
PolicyName = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"[A-Za-z0-9_]+")]
PolicyDocument = Annotated[str, Meta(min_length=1, max_length=389_120)]
PolicyRevision = Annotated[str, Meta(min_length=1, max_length=256)]
Parameter = Annotated[str, Meta(min_length=0, max_length=8192)]
"""A parameter of a call to a target: a literal, or one JSONata expression."""

HeaderName = Annotated[
    str, Meta(min_length=0, max_length=512, pattern=r"([!#$%&'*+\-.^_`|~0-9a-zA-Z]+|\{%[\s\S]+?%\})")
]
# The same texts as AWS's pattern `[ \t]*[\x20-\x7E]+([ \t]+[\x20-\x7E]+)*[ \t]*`, on which a search among many blanks
# would not end.
HeaderValue = Annotated[
    str, Meta(min_length=0, max_length=2048, pattern=r"(\t*[\x20-\x7E][\t\x20-\x7E]*|\{%[\s\S]+?%\})")
]
QueryKey = Annotated[str, Meta(min_length=0, max_length=512, pattern=r"[^\x00-\x1F\x7F]+")]
QueryValue = Annotated[str, Meta(min_length=0, max_length=512, pattern=r"[^\x00-\x09\x0B\x0C\x0E-\x1F\x7F]+")]
TagKey = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"\S([\s\S]*\S)?(?![\s\S]).*")]
TagValue = Annotated[str, Meta(min_length=0, max_length=256, pattern=r"(\S([\s\S]*\S)?)?(?![\s\S]).*")]
Tags = Annotated[dict[TagKey, TagValue], Meta(min_length=0, max_length=200)]

SubscriberType = Literal["FIFO", "UNORDERED"]
StartingPosition = Literal["LATEST", "POINT_IN_TIME"]
SubscriberState = Literal["RUNNING", "STOPPED"]
ResumePosition = Literal["LAST_PROCESSED", "LATEST"]


# --- buses -----------------------------------------------------------------------------------------------------------
class EncryptionConfiguration(RestMessage):
    kms_key_identifier: KmsKey | None = None


class StorageConfiguration(RestMessage):
    retention_period_in_days: RetentionDays | None = None


class StorageConfigurationOutput(RestMessage):
    retention_period_in_days: int | None = None
    retention_window_start_time: float | None = None


# --- subscribers -----------------------------------------------------------------------------------------------------
class Filter(RestMessage):
    pattern: Annotated[str, Meta(min_length=0, max_length=4096)]
    scope: Literal["DATA", "METADATA", "SYSTEM_METADATA"]


class FilterConfiguration(RestMessage):
    language: Literal["EVENT_BRIDGE_PATTERN"] | None = None
    filters: Annotated[list[Filter], Meta(min_length=1, max_length=50)] | None = None


class PointInTimeConfiguration(RestMessage):
    point_type: Literal["HORIZON", "TIMESTAMP"]
    starting_point: float | None = None
    end_point: float | None = None


class BatchConfiguration(RestMessage):
    max_batch_size: Annotated[int, Meta(ge=1, le=500)] | None = None
    max_batch_window_in_seconds: Annotated[int, Meta(ge=0, le=300)] | None = None


class JsonataConfiguration(RestMessage):
    expression: Annotated[str, Meta(min_length=1, max_length=8192, pattern=r"\{%[\s\S]+?%\}(?![\s\S]).*")]


class Transformer(RestMessage):
    type: Literal["RAW", "WITH_METADATA", "JSONATA"] | None = None
    jsonata_configuration: JsonataConfiguration | None = None


class RetryPolicy(RestMessage):
    max_retry_attempts: Annotated[int, Meta(ge=0, le=185)] | None = None
    max_event_age_in_seconds: Annotated[int, Meta(ge=60, le=86_400)] | None = None
    retry_strategy: Literal["ALL"] | None = None


class OnFailureConfiguration(RestMessage):
    arn: DeadLetterArn | None = None


class LogConfiguration(RestMessage):
    level: Literal["OFF", "ERROR", "INFO"] | None = None
    include_payload: Literal["FULL", "ON_ERROR_ONLY"] | None = None


# --- targets ---------------------------------------------------------------------------------------------------------
class MessageAttributeValue(RestMessage):
    data_type: Parameter | None = None
    string_value: str | None = None
    binary_value: str | None = None


MessageAttributes = Annotated[dict[Parameter, MessageAttributeValue], Meta(min_length=0, max_length=50)]


class SqsParameters(RestMessage):
    message_group_id: Parameter | None = None
    message_deduplication_id: Parameter | None = None
    delay_seconds: Parameter | None = None
    message_attributes: MessageAttributes | None = None
    message_system_attributes: MessageAttributes | None = None


class SnsParameters(RestMessage):
    message_group_id: Parameter | None = None
    message_deduplication_id: Parameter | None = None
    subject: Parameter | None = None
    message_structure: Parameter | None = None
    message_attributes: MessageAttributes | None = None


class LambdaParameters(RestMessage):
    invocation_type: Literal["EVENT", "REQUEST_RESPONSE"] | None = None
    qualifier: Parameter | None = None
    durable_execution_name: Parameter | None = None
    isolation_id: Parameter | None = field(name="TenantId", default=None)
    invocation_timeout_seconds: Parameter | None = None


class UniversalTargetParameters(RestMessage):
    """The request of an API action: a JSON object, or one JSONata expression."""

    input: Annotated[str, Meta(min_length=1, max_length=262_144)]
    invocation_timeout_seconds: str | None = None


class EventBusV2SystemMetadata(RestMessage):
    event_group_id: str | None = None
    deduplication_id: str | None = None


class DeduplicationConfiguration(RestMessage):
    deduplication_type: Literal["CONTENT_BASED"]


class EventBusV2Parameters(RestMessage):
    metadata: Annotated[dict[str, str], Meta(min_length=0, max_length=100)] | None = None
    system_metadata: EventBusV2SystemMetadata | None = None
    deduplication_configuration: DeduplicationConfiguration | None = None


class HttpParameters(RestMessage):
    path_parameter_values: (
        Annotated[list[Annotated[str, Meta(pattern=r"(?!\s*$).+")]], Meta(min_length=0, max_length=50)] | None
    ) = None
    header_parameters: Annotated[dict[HeaderName, HeaderValue], Meta(min_length=0, max_length=50)] | None = None
    query_string_parameters: Annotated[dict[QueryKey, QueryValue], Meta(min_length=0, max_length=50)] | None = None
    invocation_timeout_seconds: str | None = None


class UpdateInvokeConfiguration(RestMessage):
    """The role and the parameters of a target.

    Parameters for targets that Penstock does not have are untyped, and Penstock refuses them.
    """

    role_arn: RoleArn
    lambda_parameters: LambdaParameters | None = None
    sqs_parameters: SqsParameters | None = None
    sns_parameters: SnsParameters | None = None
    kinesis_parameters: Unsupported = None
    step_functions_parameters: Unsupported = None
    http_parameters: HttpParameters | None = None
    universal_target_parameters: UniversalTargetParameters | None = None
    event_bus_v2_parameters: EventBusV2Parameters | None = None
    msk_parameters: Unsupported = None


class InvokeConfiguration(UpdateInvokeConfiguration, kw_only=True):
    target_arn: TargetArn


# --- event sources ---------------------------------------------------------------------------------------------------
WebhookHeader = Annotated[str, Meta(min_length=1, max_length=512, pattern=r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")]
WebhookMetadataHeader = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")]
WebhookSecret = Annotated[str, Meta(min_length=6, max_length=512)]
WebhookSeparator = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"[\u0020-\u007E]+")]


class WebhookStaticTokenAuthConfiguration(RestMessage):
    token_http_header: WebhookHeader
    secret_value: WebhookSecret | None = None


class WebhookBasicHttpAuthConfiguration(RestMessage):
    username: Annotated[str, Meta(min_length=1, max_length=512, pattern=r"[^:\s]+")] | None = None
    password: WebhookSecret | None = None


class WebhookHmacAuthConfiguration(RestMessage):
    algorithm: Literal["SHA1", "SHA256"]
    encoding: Literal["BASE64", "HEX"]
    signature_http_header: WebhookHeader
    signed_message_composition: Literal["BODY", "MESSAGE_ID_DOT_TIMESTAMP_DOT_BODY", "TIMESTAMP_DOT_BODY"]
    signature_prefix: WebhookSeparator | None = None
    delimiter: WebhookSeparator | None = None
    timestamp_http_header: WebhookHeader | None = None
    timestamp_prefix: WebhookSeparator | None = None
    timestamp_tolerance_in_seconds: Annotated[int, Meta(ge=1, le=900)] | None = None
    message_id_http_header: WebhookHeader | None = None
    secret_value: WebhookSecret | None = None
    secret_encoding: Literal["BASE64", "RAW"] | None = None


class WebhookAuthConfiguration(RestMessage):
    static_token_auth_configuration: WebhookStaticTokenAuthConfiguration | None = None
    basic_http_auth_configuration: WebhookBasicHttpAuthConfiguration | None = None
    hmac_auth_configuration: WebhookHmacAuthConfiguration | None = None


class WebhookEventsSourceConfiguration(RestMessage):
    auth_configuration: WebhookAuthConfiguration
    role_arn: RoleArn
    kms_key_identifier: KmsKey | None = None
    metadata_http_headers: Annotated[list[WebhookMetadataHeader], Meta(min_length=0, max_length=20)] | None = None
    deduplication_configuration: DeduplicationConfiguration | None = None
    log_configuration: LogConfiguration | None = None


class EventSourceConfiguration(RestMessage):
    """The kind of an event source. Penstock refuses services and partners of AWS, so these members are untyped."""

    aws_service_events_configuration: Unsupported = None
    partner_events_configuration: Unsupported = None
    webhook_events_configuration: WebhookEventsSourceConfiguration | None = None


class WebhookDetails(RestMessage):
    webhook_url: str | None = None
    secret_arn: str | None = None


class EventSourceDetails(RestMessage):
    webhook_details: WebhookDetails | None = None


class WebhookCredential(RestMessage):
    static_token_secret_value: WebhookSecret | None = None
    basic_http_password: WebhookSecret | None = None
    hmac_secret_value: WebhookSecret | None = None


# --- published events ------------------------------------------------------------------------------------------------
EventGroupId = Annotated[str, Meta(min_length=1, max_length=128)]
DeduplicationId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        pattern=r"[\s\S]*[^\u0009-\u000D\u001C-\u0020\u1680\u2000-\u2006\u2008-\u200A\u2028\u2029\u205F\u3000][\s\S]*",
    ),
]
ContentType = Annotated[str, Meta(min_length=1, max_length=256, pattern="application/.*")]
MetadataKey = Annotated[str, Meta(min_length=1, max_length=128, pattern="[^/]+")]
MetadataValue = Annotated[str, Meta(min_length=1)]


class PutEventsSystemMetadata(RestMessage):
    event_group_id: EventGroupId | None = None
    deduplication_id: DeduplicationId | None = None


class PutEventsRequestEntry(RestMessage):
    source: Annotated[str, Meta(min_length=1, max_length=256)]
    detail_type: Annotated[str, Meta(min_length=1, max_length=128)]
    detail: str | None = None
    resources: (
        Annotated[list[Annotated[str, Meta(min_length=0, max_length=2048)]], Meta(min_length=0, max_length=100)] | None
    ) = None
    time: float | None = None
    system_metadata: PutEventsSystemMetadata | None = None


class PutRawEventsSystemMetadata(RestMessage):
    content_type: ContentType
    deduplication_id: DeduplicationId | None = None
    event_group_id: EventGroupId | None = None


class PutRawEventsRequestEntry(RestMessage):
    data: bytes
    system_metadata: PutRawEventsSystemMetadata
    metadata: Annotated[dict[MetadataKey, MetadataValue], Meta(min_length=0, max_length=100)] | None = None


class ConfluentPublicRegistryConfiguration(RestMessage):
    connection_arn: Annotated[
        str, Meta(min_length=1, max_length=1600, pattern=r"arn:aws(-[a-z0-9]+)*:events:[a-z0-9-]+:\d{12}:connection/.+")
    ]


class SchemaRegistryConfiguration(RestMessage):
    """The schema registry of Avro and Protobuf. JSON and binary data need no registry."""

    registry_uri: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2048,
            pattern=r"(arn:[a-z0-9-]+:glue:[a-z0-9-]+:[0-9]{12}:registry/[-_$#A-Za-z0-9]{1,255}"
            r"|https://((([A-Za-z0-9]+-)*[A-Za-z0-9]+)\.)*([A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)(:[0-9]{1,5})?)"
            r"(?![\s\S]).*",
        ),
    ]
    confluent_public_registry_configuration: ConfluentPublicRegistryConfiguration | None = None
