"""Requests and results of the SNS actions, with the members and names of botocore's model `sns/2010-03-31`.

A member without a default is required. The limits come from the model, and the gateway checks them. Lists and maps are
wrapped (`Tags.member.1.Key`), except message attributes, whose entries have a `Name` and a `Value`. Binary values are
base64 text in requests and in these types.
"""

from typing import Annotated, Literal

from msgspec import Meta, field

from penstock.aws.codec.names import Blob, IsoTime, Request, Result, name_map_entries

# --- texts and numbers -----------------------------------------------------------------------------------------------
ResourceArn = Annotated[str, Meta(min_length=1, max_length=1011)]
TagKey = Annotated[str, Meta(min_length=1, max_length=128)]
TagValue = Annotated[str, Meta(min_length=0, max_length=256)]
SandboxNumber = Annotated[str, Meta(min_length=0, max_length=20, pattern=r"^(\+[0-9]{8,}|[0-9]{0,9})$")]
OneTimePassword = Annotated[str, Meta(min_length=5, max_length=8, pattern="^[0-9]+$")]
OriginationPage = Annotated[int, Meta(ge=1, le=30)]
SandboxPage = Annotated[int, Meta(ge=1, le=100)]
LanguageCode = Literal[
    "en-US", "en-GB", "es-419", "es-ES", "de-DE", "fr-CA", "fr-FR", "it-IT", "ja-JP", "pt-BR", "kr-KR", "zh-CN", "zh-TW"
]


# --- parts -----------------------------------------------------------------------------------------------------------
class MessageAttributeValue(Result):
    """A message attribute. The model requires DataType. The attribute's validation raises the error if it is
    missing."""

    data_type: str | None = None
    string_value: str | None = None
    binary_value: Blob | None = None


MessageAttributes = Annotated[dict[str, MessageAttributeValue] | None, name_map_entries("Name", "Value")]


class Tag(Result):
    key: TagKey
    value: TagValue


class Topic(Result):
    topic_arn: str


class Subscription(Result):
    """A subscription in a list. The ARN is `PendingConfirmation` until the endpoint confirms it."""

    subscription_arn: str
    owner: str
    protocol: str
    endpoint: str
    topic_arn: str


class BatchResultErrorEntry(Result):
    """The error of one entry of a batch. `code` is the Query error code."""

    id: str
    sender_fault: bool
    code: str
    message: str | None = None


# --- topics ----------------------------------------------------------------------------------------------------------
class CreateTopicRequest(Request):
    name: str
    attributes: dict[str, str] | None = None
    tags: list[Tag] | None = None
    data_protection_policy: str | None = None


class CreateTopicResult(Result):
    topic_arn: str | None = None


class DeleteTopicRequest(Request):
    topic_arn: str


class ListTopicsRequest(Request):
    next_token: str | None = None


class ListTopicsResult(Result):
    topics: list[Topic]
    next_token: str | None = None


class GetTopicAttributesRequest(Request):
    topic_arn: str


class GetTopicAttributesResult(Result):
    attributes: dict[str, str] | None = None


class SetTopicAttributesRequest(Request):
    topic_arn: str
    attribute_name: str
    attribute_value: str | None = None


class AddPermissionRequest(Request):
    """The model calls the list of accounts `AWSAccountId` and the list of actions `ActionName`."""

    topic_arn: str
    label: str
    aws_account_ids: list[str] = field(name="AWSAccountId")
    actions: list[str] = field(name="ActionName")


class RemovePermissionRequest(Request):
    topic_arn: str
    label: str


class GetDataProtectionPolicyRequest(Request):
    resource_arn: str


class GetDataProtectionPolicyResult(Result):
    data_protection_policy: str | None = None


class PutDataProtectionPolicyRequest(Request):
    resource_arn: str
    data_protection_policy: str


# --- tags ------------------------------------------------------------------------------------------------------------
class TagResourceRequest(Request):
    resource_arn: ResourceArn
    tags: list[Tag]


class TagResourceResult(Result):
    pass


class UntagResourceRequest(Request):
    resource_arn: ResourceArn
    tag_keys: list[TagKey]


class UntagResourceResult(Result):
    pass


class ListTagsForResourceRequest(Request):
    resource_arn: ResourceArn


class ListTagsForResourceResult(Result):
    tags: list[Tag]


# --- subscriptions ---------------------------------------------------------------------------------------------------
class SubscribeRequest(Request):
    topic_arn: str
    protocol: str
    endpoint: str | None = None
    attributes: dict[str, str] | None = None
    return_subscription_arn: bool | None = None


class SubscribeResult(Result):
    subscription_arn: str | None = None


class ConfirmSubscriptionRequest(Request):
    topic_arn: str
    token: str
    authenticate_on_unsubscribe: str | None = None


class ConfirmSubscriptionResult(Result):
    subscription_arn: str | None = None


class UnsubscribeRequest(Request):
    """The model requires SubscriptionArn. The operation raises the error if it is missing, as on AWS."""

    subscription_arn: str | None = None


class ListSubscriptionsRequest(Request):
    next_token: str | None = None


class ListSubscriptionsResult(Result):
    subscriptions: list[Subscription]
    next_token: str | None = None


class ListSubscriptionsByTopicRequest(Request):
    topic_arn: str
    next_token: str | None = None


class ListSubscriptionsByTopicResult(ListSubscriptionsResult):
    pass


class GetSubscriptionAttributesRequest(Request):
    subscription_arn: str


class GetSubscriptionAttributesResult(Result):
    attributes: dict[str, str] | None = None


class SetSubscriptionAttributesRequest(Request):
    subscription_arn: str
    attribute_name: str
    attribute_value: str | None = None


# --- publishing ------------------------------------------------------------------------------------------------------
class PublishRequest(Request):
    """The request has either TopicArn, TargetArn (of a topic, or of an endpoint of a mobile app) or PhoneNumber."""

    message: str
    topic_arn: str | None = None
    target_arn: str | None = None
    phone_number: str | None = None
    subject: str | None = None
    message_structure: str | None = None
    message_attributes: MessageAttributes = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class PublishResult(Result):
    message_id: str | None = None
    sequence_number: str | None = None


class PublishBatchRequestEntry(Request):
    id: str
    message: str
    subject: str | None = None
    message_structure: str | None = None
    message_attributes: MessageAttributes = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class PublishBatchRequest(Request):
    topic_arn: str
    publish_batch_request_entries: list[PublishBatchRequestEntry]


class PublishBatchResultEntry(Result):
    id: str
    message_id: str
    sequence_number: str | None = None


class PublishBatchResult(Result):
    successful: list[PublishBatchResultEntry]
    failed: list[BatchResultErrorEntry]


# --- mobile apps -----------------------------------------------------------------------------------------------------
class PlatformApplication(Result):
    platform_application_arn: str
    attributes: dict[str, str]


class PlatformEndpoint(Result):
    """An endpoint in a list. The model calls it Endpoint."""

    endpoint_arn: str
    attributes: dict[str, str]


class CreatePlatformApplicationRequest(Request):
    name: str
    platform: str
    attributes: dict[str, str]


class CreatePlatformApplicationResult(Result):
    platform_application_arn: str | None = None


class DeletePlatformApplicationRequest(Request):
    platform_application_arn: str


class GetPlatformApplicationAttributesRequest(Request):
    platform_application_arn: str


class GetPlatformApplicationAttributesResult(Result):
    attributes: dict[str, str] | None = None


class SetPlatformApplicationAttributesRequest(Request):
    """The model requires Attributes. If they are missing, the operation raises the error after it has read the ARN."""

    platform_application_arn: str
    attributes: dict[str, str] | None = None


class ListPlatformApplicationsRequest(Request):
    next_token: str | None = None


class ListPlatformApplicationsResult(Result):
    platform_applications: list[PlatformApplication]
    next_token: str | None = None


class CreatePlatformEndpointRequest(Request):
    platform_application_arn: str
    token: str
    custom_user_data: str | None = None
    attributes: dict[str, str] | None = None


class CreatePlatformEndpointResult(Result):
    endpoint_arn: str | None = None


class DeleteEndpointRequest(Request):
    endpoint_arn: str


class GetEndpointAttributesRequest(Request):
    endpoint_arn: str


class GetEndpointAttributesResult(Result):
    attributes: dict[str, str] | None = None


class SetEndpointAttributesRequest(Request):
    """The model requires Attributes. If they are missing, the operation raises the error after it has read the ARN."""

    endpoint_arn: str
    attributes: dict[str, str] | None = None


class ListEndpointsByPlatformApplicationRequest(Request):
    platform_application_arn: str
    next_token: str | None = None


class ListEndpointsByPlatformApplicationResult(Result):
    endpoints: list[PlatformEndpoint]
    next_token: str | None = None


# --- text messages: members of the older actions begin with a small letter --------------------------------------------
class SetSMSAttributesRequest(Request):
    attributes: dict[str, str] = field(name="attributes")


class SetSMSAttributesResult(Result):
    pass


class GetSMSAttributesRequest(Request):
    attributes: list[str] | None = field(default=None, name="attributes")


class GetSMSAttributesResult(Result):
    attributes: dict[str, str] | None = field(default=None, name="attributes")


class CheckIfPhoneNumberIsOptedOutRequest(Request):
    phone_number: str = field(name="phoneNumber")


class CheckIfPhoneNumberIsOptedOutResult(Result):
    is_opted_out: bool | None = field(default=None, name="isOptedOut")


class ListPhoneNumbersOptedOutRequest(Request):
    next_token: str | None = field(default=None, name="nextToken")


class ListPhoneNumbersOptedOutResult(Result):
    phone_numbers: list[str] = field(name="phoneNumbers")
    next_token: str | None = field(default=None, name="nextToken")


class OptInPhoneNumberRequest(Request):
    phone_number: str = field(name="phoneNumber")


class OptInPhoneNumberResult(Result):
    pass


class PhoneNumberInformation(Result):
    """A phone number that an account sends from."""

    created_at: IsoTime | None = None
    phone_number: str | None = None
    status: str | None = None
    iso2_country_code: str | None = field(default=None, name="Iso2CountryCode")
    route_type: str | None = None
    number_capabilities: list[str] | None = None


class ListOriginationNumbersRequest(Request):
    next_token: str | None = None
    max_results: OriginationPage | None = None


class ListOriginationNumbersResult(Result):
    phone_numbers: list[PhoneNumberInformation]
    next_token: str | None = None


class SMSSandboxPhoneNumber(Result):
    """A phone number of the SMS sandbox."""

    phone_number: str
    status: str


class GetSMSSandboxAccountStatusRequest(Request):
    pass


class GetSMSSandboxAccountStatusResult(Result):
    is_in_sandbox: bool


class CreateSMSSandboxPhoneNumberRequest(Request):
    phone_number: SandboxNumber
    language_code: LanguageCode | None = None


class CreateSMSSandboxPhoneNumberResult(Result):
    pass


class VerifySMSSandboxPhoneNumberRequest(Request):
    phone_number: SandboxNumber
    one_time_password: OneTimePassword


class VerifySMSSandboxPhoneNumberResult(Result):
    pass


class DeleteSMSSandboxPhoneNumberRequest(Request):
    phone_number: SandboxNumber


class DeleteSMSSandboxPhoneNumberResult(Result):
    pass


class ListSMSSandboxPhoneNumbersRequest(Request):
    next_token: str | None = None
    max_results: SandboxPage | None = None


class ListSMSSandboxPhoneNumbersResult(Result):
    phone_numbers: list[SMSSandboxPhoneNumber]
    next_token: str | None = None
