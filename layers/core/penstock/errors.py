"""The errors of SQS and of all services, as data: class, JSON type, Query code, HTTP status, fault.

    AwsError
    ├── sender's fault, 400
    │   ├── InvalidParameterValue, MissingParameter, InvalidMessageContents, ReceiptHandleIsInvalid
    │   ├── InvalidAttributeName, InvalidAttributeValue, RequestThrottled, ResponseTooLarge
    │   ├── QueueDoesNotExist, QueueNameExists, QueueDeletedRecently, UnsupportedOperation
    │   ├── EmptyBatchRequest, TooManyEntriesInBatchRequest, BatchEntryIdsNotDistinct, InvalidBatchEntryId,
    │   │   BatchRequestTooLong
    │   └── InvalidAction, MissingAction, SerializationException, MalformedQueryString, IncompleteSignature
    ├── sender's fault, 403
    │   ├── OverLimit, PurgeQueueInProgress
    │   └── MissingAuthenticationToken, InvalidClientTokenId, SignatureDoesNotMatch, ExpiredToken, AccessDenied
    ├── sender's fault, other: ResourceNotFoundException 404, RequestTimeout 408,
    │   RequestEntityTooLarge 413, MisdirectedRequest 421
    └── service's fault: InternalFailure 500, ServiceUnavailable 503

JSON responses have `__type` and an `x-amzn-query-error: <Query code>;Sender` header. Query responses have the Query
code. Sources: the error table of the SQS API reference, and the Query model of botocore 1.31.80, the last model with
codes and statuses. Errors without a model belong to `com.amazon.coral.service`. RequestEntityTooLarge,
ResponseTooLarge, MisdirectedRequest and the texts about Penstock's limits are Penstock's choice.
"""

# ruff: noqa: N818 - the classes have the names of AWS's errors

from collections.abc import Mapping
from types import MappingProxyType

SQS = "com.amazonaws.sqs"
CORAL = "com.amazon.coral.service"
LEGACY = "AWS.SimpleQueueService."
KMS_KEYS_REFUSED = "This service does not encrypt with KMS keys, and the setting QUEUE_REFUSE_KMS refuses KMS keys."
# The most characters of a message. A message quotes parts of the request, which can be far longer.
MAX_MESSAGE_LENGTH = 16_384


class AwsError(Exception):
    """An error response. The class attributes describe the error in each protocol.

    `message` is the client's text, which is AWS's text if AWS's text is known. `detail` is an explanation that AWS's
    text does not contain. Only the log and the REST API show `detail`. `member` is the path of the member that caused
    the error, such as `BatchConfiguration.MaxBatchSize`, or empty. The console shows the error at the member's field.
    """

    json_type: str = "InternalFailure"
    namespace: str = SQS
    query_code: str = "InternalFailure"
    status: int = 400
    sender_fault: bool = True
    default_message: str = ""
    query_suffix: str = ""
    retry_after_seconds: int | None = None
    is_access_error: bool = False
    """Whether metrics count the error as a failed authentication or authorization."""
    more_members: Mapping[str, str] = MappingProxyType({})
    """The error's members in AWS's model, without the message."""
    message_member: str = "Message"
    """The name of the member that contains the message in REST-JSON."""

    def __init__(self, message: str | None = None, detail: str | None = None, *, member: str = "") -> None:
        self.message = self.default_message if message is None else _replace_surrogates(message[:MAX_MESSAGE_LENGTH])
        self.detail = detail
        self.member = member
        super().__init__(self.message)

    @property
    def fault(self) -> str:
        """Returns the name of the party at fault in the protocols (Sender or Receiver)."""
        return "Sender" if self.sender_fault else "Receiver"

    @property
    def query_message(self) -> str:
        """Returns the text in the Query protocol, which mentions the WSDL version if a queue is missing."""
        if not self.query_suffix or self.message.endswith(self.query_suffix):
            return self.message
        return self.message.removesuffix(".") + self.query_suffix


def _replace_surrogates(text: str) -> str:
    """Replaces lone surrogates, which can come from JSON. No response can contain lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# --- parameters ------------------------------------------------------------------------------------------------------
class InvalidParameterValue(AwsError):
    json_type = "InvalidParameterValueException"
    namespace = CORAL
    query_code = "InvalidParameterValue"


class MissingParameter(AwsError):
    json_type = "MissingRequiredParameterException"
    namespace = CORAL
    query_code = "MissingParameter"

    @classmethod
    def named(cls, parameter: str) -> "MissingParameter":
        """Returns the error for an absent member of this name."""
        return cls(f"The request must contain the parameter {parameter}.", member=parameter)


class InvalidAttributeName(AwsError):
    json_type = query_code = "InvalidAttributeName"


class InvalidAttributeValue(AwsError):
    json_type = query_code = "InvalidAttributeValue"


class InvalidMessageContents(AwsError):
    json_type = query_code = "InvalidMessageContents"


class ReceiptHandleIsInvalid(AwsError):
    json_type = query_code = "ReceiptHandleIsInvalid"
    default_message = "The input receipt handle is invalid."


class RequestThrottled(AwsError):
    json_type = query_code = "RequestThrottled"
    default_message = "Request is throttled."
    retry_after_seconds = 1


# --- queues and messages ---------------------------------------------------------------------------------------------
class QueueDoesNotExist(AwsError):
    json_type = "QueueDoesNotExist"
    query_code = LEGACY + "NonExistentQueue"
    default_message = "The specified queue does not exist."
    query_suffix = " for this wsdl version."


class QueueNameExists(AwsError):
    json_type = "QueueNameExists"
    query_code = "QueueAlreadyExists"
    default_message = "A queue already exists with the same name and a different value for an attribute."


class QueueDeletedRecently(AwsError):
    json_type = "QueueDeletedRecently"
    query_code = LEGACY + "QueueDeletedRecently"
    default_message = (
        "You must wait 60 seconds after deleting a queue before you can create another with the same name."
    )


class PurgeQueueInProgress(AwsError):
    json_type = "PurgeQueueInProgress"
    query_code = LEGACY + "PurgeQueueInProgress"
    status = 403
    default_message = "Only one PurgeQueue operation is allowed every 60 seconds."


class UnsupportedOperation(AwsError):
    json_type = "UnsupportedOperation"
    query_code = LEGACY + "UnsupportedOperation"
    default_message = "Unsupported operation."


class OverLimit(AwsError):
    json_type = query_code = "OverLimit"
    status = 403
    # The text was recorded at AWS: pressureNET-server, issue 74.
    default_message = (
        "Too many messages have been received without being deleted. "
        "Please delete your received messages or let them timeout before receiving more."
    )


class ResourceNotFoundException(AwsError):
    json_type = query_code = "ResourceNotFoundException"
    status = 404
    default_message = "The resource that you specified for the SourceArn parameter doesn't exist."


# --- batches ---------------------------------------------------------------------------------------------------------
class EmptyBatchRequest(AwsError):
    json_type = "EmptyBatchRequest"
    query_code = LEGACY + "EmptyBatchRequest"
    default_message = "There should be at least one entry in the request."


class TooManyEntriesInBatchRequest(AwsError):
    json_type = "TooManyEntriesInBatchRequest"
    query_code = LEGACY + "TooManyEntriesInBatchRequest"
    default_message = "Maximum number of entries per request are 10."


class BatchEntryIdsNotDistinct(AwsError):
    json_type = "BatchEntryIdsNotDistinct"
    query_code = LEGACY + "BatchEntryIdsNotDistinct"
    default_message = "Two or more batch entries in the request have the same Id."


class InvalidBatchEntryId(AwsError):
    json_type = "InvalidBatchEntryId"
    query_code = LEGACY + "InvalidBatchEntryId"
    default_message = (
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
        "It can be at most 80 letters long."
    )


class BatchRequestTooLong(AwsError):
    json_type = "BatchRequestTooLong"
    query_code = LEGACY + "BatchRequestTooLong"
    default_message = "The length of all the messages put together is more than the limit."


# --- the request itself ----------------------------------------------------------------------------------------------
class InvalidAction(AwsError):
    json_type = query_code = "InvalidAction"
    namespace = CORAL

    @classmethod
    def named(cls, action: str) -> "InvalidAction":
        """Returns the error for an action that this endpoint does not offer."""
        return cls(f"The action {action} is not valid for this endpoint.")


class MissingAction(AwsError):
    json_type = query_code = "MissingAction"
    namespace = CORAL
    default_message = "The request is missing an action or a required parameter."


class SerializationException(AwsError):
    json_type = query_code = "SerializationException"
    namespace = CORAL
    default_message = "The request body could not be read."


class MalformedQueryString(AwsError):
    json_type = query_code = "MalformedQueryString"
    namespace = CORAL
    default_message = "The query string contains a syntax error."


class RequestEntityTooLarge(AwsError):
    json_type = query_code = "RequestEntityTooLarge"
    namespace = CORAL
    status = 413
    default_message = "The request body is too large."


class ResponseTooLarge(AwsError):
    json_type = query_code = "ResponseTooLarge"
    namespace = CORAL

    @classmethod
    def of(cls, way: str) -> "ResponseTooLarge":
        """Returns the error for a response that is too long for the request's entry point."""
        return cls(f"The response is longer than {way} allows. Request less data, or use the container.")

    @classmethod
    def of_message(cls, way: str) -> "ResponseTooLarge":
        """Returns the error for a receive that found only messages that are too long."""
        return cls(
            f"Every message that can be received now is longer than {way} allows. The request received no message "
            "and changed no receive count. Use the container, or an entry point with a higher limit."
        )


class MisdirectedRequest(AwsError):
    json_type = query_code = "MisdirectedRequest"
    namespace = CORAL
    status = 421  # RFC 9110, 15.5.20

    @classmethod
    def of(cls, host: str) -> "MisdirectedRequest":
        return cls(
            f"The service does not accept the host {host[:255]}. If the host belongs to the service, add the host to "
            "the setting QUEUE_ALLOWED_HOSTS."
        )


class RequestTimeout(AwsError):
    json_type = query_code = "RequestTimeout"
    namespace = CORAL
    status = 408
    default_message = "The request did not end in time."


# --- credentials -----------------------------------------------------------------------------------------------------
class IncompleteSignature(AwsError):
    is_access_error = True
    json_type = query_code = "IncompleteSignature"
    namespace = CORAL
    default_message = "The request signature does not conform to AWS standards."


class MissingAuthenticationToken(AwsError):
    is_access_error = True
    json_type = query_code = "MissingAuthenticationToken"
    namespace = CORAL
    status = 403
    default_message = "Request is missing Authentication Token"


class InvalidClientTokenId(AwsError):
    is_access_error = True
    json_type = query_code = "InvalidClientTokenId"
    namespace = CORAL
    status = 403
    default_message = "The security token included in the request is invalid."


class SignatureDoesNotMatch(AwsError):
    is_access_error = True
    json_type = query_code = "SignatureDoesNotMatch"
    namespace = CORAL
    status = 403
    default_message = (
        "The request signature we calculated does not match the signature you provided. "
        "Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
    )


class ExpiredToken(AwsError):
    is_access_error = True
    json_type = query_code = "ExpiredToken"
    namespace = CORAL
    status = 403
    default_message = "The security token included in the request is expired"


class AccessDenied(AwsError):
    """`resource` is the ARN of the resource that the caller may not use, or None if the error names no resource."""

    is_access_error = True
    json_type = "AccessDeniedException"
    query_code = "AccessDenied"
    namespace = CORAL
    status = 403
    default_message = "Access to the resource is denied."

    def __init__(
        self, message: str | None = None, detail: str | None = None, *, resource: str | None = None, member: str = ""
    ) -> None:
        super().__init__(message, detail, member=member)
        self.resource = resource


# --- our own faults --------------------------------------------------------------------------------------------------
class InternalFailure(AwsError):
    json_type = query_code = "InternalFailure"
    namespace = CORAL
    status = 500
    sender_fault = False
    default_message = "The request processing has failed because of an unknown error, exception or failure."


class ServiceUnavailable(AwsError):
    json_type = query_code = "ServiceUnavailable"
    namespace = CORAL
    status = 503
    sender_fault = False
    default_message = "The request has failed due to a temporary failure of the server."
    retry_after_seconds = 1


ERRORS: dict[str, type[AwsError]] = {
    error.__name__: error
    for error in (
        InvalidParameterValue, MissingParameter, InvalidAttributeName, InvalidAttributeValue,
        InvalidMessageContents, ReceiptHandleIsInvalid, RequestThrottled, QueueDoesNotExist, QueueNameExists,
        QueueDeletedRecently, PurgeQueueInProgress, UnsupportedOperation, OverLimit, ResourceNotFoundException,
        EmptyBatchRequest, TooManyEntriesInBatchRequest, BatchEntryIdsNotDistinct, InvalidBatchEntryId,
        BatchRequestTooLong, InvalidAction, MissingAction, SerializationException, MalformedQueryString,
        RequestEntityTooLarge, ResponseTooLarge, MisdirectedRequest, RequestTimeout, IncompleteSignature,
        MissingAuthenticationToken, InvalidClientTokenId, SignatureDoesNotMatch, ExpiredToken, AccessDenied,
        InternalFailure, ServiceUnavailable,
    )
}  # fmt: skip


def build_sql_error(code: str, detail: str | None = None) -> AwsError:
    """Returns the error for the class name in a SQL function's column `error`, or InternalFailure for an unknown
    name."""
    error = ERRORS.get(code)
    return InternalFailure() if error is None else error(detail)
