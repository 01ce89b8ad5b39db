"""Requests and results of the SQS actions, with the members and names of botocore's model `sqs/2012-11-05`.

A member without a default is required. A response omits members with default values, as SQS does: an empty receive
returns `{}`, and a batch without failures has no `Failed`. Binary values stay base64 text and are decoded only if the
bytes are needed (MD5, size).
"""

from typing import Annotated

from msgspec import Struct, field

from penstock.aws.codec.names import Blob, Request, Result, name_flat_list, name_flat_map


# --- parts -----------------------------------------------------------------------------------------------------------
class MessageAttributeValue(Result):
    """A message attribute. AWS reserves the two list members, and the service refuses both.

    The model requires DataType. An absent data type is an empty string here, because SQS returns a special text for it
    (`validation.check_message_attributes`). In a batch the error concerns only the entry with the attribute.
    """

    data_type: str = ""
    string_value: str | None = None
    binary_value: Blob | None = None
    string_list_values: Annotated[list[str] | None, name_flat_list("StringListValue")] = None
    binary_list_values: Annotated[list[Blob] | None, name_flat_list("BinaryListValue")] = None


class MessageSystemAttributeValue(MessageAttributeValue):
    """A system attribute that the sender can set: `AWSTraceHeader` of type String."""


UserAttributes = Annotated[dict[str, MessageAttributeValue] | None, name_flat_map("MessageAttribute")]
SystemAttributes = Annotated[dict[str, MessageSystemAttributeValue] | None, name_flat_map("MessageSystemAttribute")]
Tags = Annotated[dict[str, str] | None, name_flat_map("Tag", "Key", "Value")]


class BatchResultErrorEntry(Result):
    """The reason why a batch entry failed. `code` is the Query error code."""

    id: str
    sender_fault: bool
    code: str
    message: str | None = None


Failures = Annotated[list[BatchResultErrorEntry], name_flat_list("BatchResultErrorEntry")]


# --- queues ----------------------------------------------------------------------------------------------------------
class CreateQueueRequest(Request):
    """`tags` is the model's only member in lower case."""

    queue_name: str
    attributes: Annotated[dict[str, str] | None, name_flat_map("Attribute")] = None
    tags: Tags = field(default=None, name="tags")


class CreateQueueResult(Result):
    queue_url: str | None = None


class DeleteQueueRequest(Request):
    queue_url: str


class GetQueueUrlRequest(Request):
    queue_name: str
    queue_owner_aws_account_id: str | None = field(default=None, name="QueueOwnerAWSAccountId")


class GetQueueUrlResult(Result):
    queue_url: str | None = None


class ListQueuesRequest(Request):
    queue_name_prefix: str | None = None
    next_token: str | None = None
    max_results: int | None = None


class ListQueuesResult(Result):
    queue_urls: Annotated[list[str], name_flat_list("QueueUrl", json="queueUrls")] = field(default_factory=list)
    next_token: str | None = None


class GetQueueAttributesRequest(Request):
    queue_url: str
    attribute_names: Annotated[list[str] | None, name_flat_list("AttributeName")] = None


class GetQueueAttributesResult(Result):
    attributes: Annotated[dict[str, str] | None, name_flat_map("Attribute")] = None


class SetQueueAttributesRequest(Request):
    queue_url: str
    attributes: Annotated[dict[str, str], name_flat_map("Attribute")]


class PurgeQueueRequest(Request):
    queue_url: str


# --- sending ---------------------------------------------------------------------------------------------------------
class SendMessageRequest(Request):
    queue_url: str
    message_body: str
    delay_seconds: int | None = None
    message_attributes: UserAttributes = None
    message_system_attributes: SystemAttributes = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class SendMessageResult(Result):
    md5_of_message_body: str | None = field(default=None, name="MD5OfMessageBody")
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    md5_of_message_system_attributes: str | None = field(default=None, name="MD5OfMessageSystemAttributes")
    message_id: str | None = None
    sequence_number: str | None = None


class SendMessageBatchRequestEntry(Request):
    id: str
    message_body: str
    delay_seconds: int | None = None
    message_attributes: UserAttributes = None
    message_system_attributes: SystemAttributes = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class SendMessageBatchRequest(Request):
    queue_url: str
    entries: Annotated[list[SendMessageBatchRequestEntry], name_flat_list("SendMessageBatchRequestEntry")]


class SendMessageBatchResultEntry(Result):
    id: str
    message_id: str
    md5_of_message_body: str = field(name="MD5OfMessageBody")
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    md5_of_message_system_attributes: str | None = field(default=None, name="MD5OfMessageSystemAttributes")
    sequence_number: str | None = None


class SendMessageBatchResult(Result):
    """The model requires `Successful` and `Failed`. Like AWS, Penstock omits an empty list."""

    successful: Annotated[list[SendMessageBatchResultEntry], name_flat_list("SendMessageBatchResultEntry")] = field(
        default_factory=list
    )
    failed: Failures = field(default_factory=list)


# --- receiving -------------------------------------------------------------------------------------------------------
class ReceiveMessageRequest(Request):
    """`attribute_names` is the old name of `message_system_attribute_names`. The service combines both lists."""

    queue_url: str
    attribute_names: Annotated[list[str] | None, name_flat_list("AttributeName")] = None
    message_system_attribute_names: Annotated[list[str] | None, name_flat_list("MessageSystemAttributeName")] = None
    message_attribute_names: Annotated[list[str] | None, name_flat_list("MessageAttributeName")] = None
    max_number_of_messages: int | None = None
    visibility_timeout: int | None = None
    wait_time_seconds: int | None = None
    receive_request_attempt_id: str | None = None


class Message(Result):
    message_id: str | None = None
    receipt_handle: str | None = None
    md5_of_body: str | None = field(default=None, name="MD5OfBody")
    body: str | None = None
    attributes: Annotated[dict[str, str] | None, name_flat_map("Attribute")] = None
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    message_attributes: UserAttributes = None


class ReceiveMessageResult(Result):
    messages: Annotated[list[Message], name_flat_list("Message", json="messages")] = field(default_factory=list)


# --- deleting --------------------------------------------------------------------------------------------------------
class DeleteMessageRequest(Request):
    queue_url: str
    receipt_handle: str


class DeleteMessageBatchRequestEntry(Request):
    id: str
    receipt_handle: str


class DeleteMessageBatchRequest(Request):
    queue_url: str
    entries: Annotated[list[DeleteMessageBatchRequestEntry], name_flat_list("DeleteMessageBatchRequestEntry")]


class DeleteMessageBatchResultEntry(Result):
    id: str


class DeleteMessageBatchResult(Result):
    """Empty lists are omitted, as in SendMessageBatchResult."""

    successful: Annotated[list[DeleteMessageBatchResultEntry], name_flat_list("DeleteMessageBatchResultEntry")] = field(
        default_factory=list
    )
    failed: Failures = field(default_factory=list)


# --- visibility ------------------------------------------------------------------------------------------------------
class ChangeMessageVisibilityRequest(Request):
    queue_url: str
    receipt_handle: str
    visibility_timeout: int


class ChangeMessageVisibilityBatchRequestEntry(Request):
    id: str
    receipt_handle: str
    visibility_timeout: int | None = None


class ChangeMessageVisibilityBatchRequest(Request):
    queue_url: str
    entries: Annotated[
        list[ChangeMessageVisibilityBatchRequestEntry], name_flat_list("ChangeMessageVisibilityBatchRequestEntry")
    ]


class ChangeMessageVisibilityBatchResultEntry(Result):
    id: str


class ChangeMessageVisibilityBatchResult(Result):
    """Empty lists are omitted, as in SendMessageBatchResult."""

    successful: Annotated[
        list[ChangeMessageVisibilityBatchResultEntry], name_flat_list("ChangeMessageVisibilityBatchResultEntry")
    ] = field(default_factory=list)
    failed: Failures = field(default_factory=list)


# --- tags ------------------------------------------------------------------------------------------------------------
class TagQueueRequest(Request):
    queue_url: str
    tags: Annotated[dict[str, str], name_flat_map("Tag", "Key", "Value")]


class UntagQueueRequest(Request):
    queue_url: str
    tag_keys: Annotated[list[str], name_flat_list("TagKey")]


class ListQueueTagsRequest(Request):
    queue_url: str


class ListQueueTagsResult(Result):
    tags: Tags = None


# --- permissions -----------------------------------------------------------------------------------------------------
class AddPermissionRequest(Request):
    queue_url: str
    label: str
    aws_account_ids: Annotated[list[str], name_flat_list("AWSAccountId")] = field(name="AWSAccountIds")
    actions: Annotated[list[str], name_flat_list("ActionName")]


class RemovePermissionRequest(Request):
    queue_url: str
    label: str


# --- dead-letter queues ----------------------------------------------------------------------------------------------
class ListDeadLetterSourceQueuesRequest(Request):
    queue_url: str
    next_token: str | None = None
    max_results: int | None = None


class ListDeadLetterSourceQueuesResult(Result):
    """The model spells `queueUrls` with a small letter. The member appears even if it is empty."""

    queue_urls: Annotated[list[str], name_flat_list("QueueUrl")] = field(name="queueUrls")
    next_token: str | None = None


# --- message move tasks ----------------------------------------------------------------------------------------------
class StartMessageMoveTaskRequest(Request):
    source_arn: str
    destination_arn: str | None = None
    max_number_of_messages_per_second: int | None = None


class StartMessageMoveTaskResult(Result):
    task_handle: str | None = None


class CancelMessageMoveTaskRequest(Request):
    task_handle: str


class CancelMessageMoveTaskResult(Result):
    approximate_number_of_messages_moved: int | None = None


class ListMessageMoveTasksRequest(Request):
    source_arn: str
    max_results: int | None = None


class ListMessageMoveTasksResultEntry(Result):
    """One task. `started_timestamp` is in milliseconds since 1970. Only a running task has a `task_handle`."""

    task_handle: str | None = None
    status: str | None = None
    source_arn: str | None = None
    destination_arn: str | None = None
    max_number_of_messages_per_second: int | None = None
    approximate_number_of_messages_moved: int | None = None
    approximate_number_of_messages_to_move: int | None = None
    failure_reason: str | None = None
    started_timestamp: int | None = None


class ListMessageMoveTasksResult(Result):
    """An empty `Results` appears if the protocol can express an empty list."""

    results: Annotated[
        list[ListMessageMoveTasksResultEntry] | None, name_flat_list("ListMessageMoveTasksResultEntry")
    ] = None


# --- the peek endpoint: not an action of the service -----------------------------------------------------------------
class PeekRequest(Struct, rename="pascal"):
    """The queue, and whether the response includes messages in flight and delayed messages."""

    queue_url: str
    show_invisible: bool = False
    show_delayed: bool = False
