"""The errors of SNS.

Codes and statuses come from botocore's model `sns/2010-03-31`. ValidationError is in Common Errors of the SNS API
reference. A class has the name of its Query code, with the prefix `Topic` if an SQS error has the same name. SNS
writes no `<Detail/>` into an XML error, so `encode_error` in aws/codec/xml.py omits it.
"""

# ruff: noqa: N818 - the classes have the names of AWS's errors

from collections.abc import Sequence
from types import MappingProxyType

from penstock.aws.codec.limits import Violation, describe_violations, find_member
from penstock.errors import AccessDenied, AwsError, InternalFailure, RequestThrottled

SNS = "com.amazonaws.sns"


class SnsError(AwsError):
    """Base class of SNS errors."""

    namespace = SNS


class InvalidParameter(SnsError):
    json_type = "InvalidParameterException"
    query_code = "InvalidParameter"
    default_message = "Invalid parameter"

    @classmethod
    def named(cls, name: str, reason: str = "", *, member: str | None = None) -> "InvalidParameter":
        """Returns `Invalid parameter: TopicArn`, with a reason if AWS gives one. In some of AWS's texts, a sentence
        replaces the member's name. `member` is then the name."""
        text = f"Invalid parameter: {name} Reason: {reason}" if reason else f"Invalid parameter: {name}"
        return cls(text, member=name if member is None else member)

    def within(self, member: str) -> "InvalidParameter":
        """Returns the error for a value in a map: `Invalid parameter: Attributes Reason: FilterPolicy: …`."""
        return type(self).named(member, self.message.removeprefix("Invalid parameter: "), member=self.member)


class ParameterValueInvalid(SnsError):
    json_type = "InvalidParameterValueException"
    query_code = "ParameterValueInvalid"


class ValidationError(SnsError):
    json_type = "ValidationException"
    query_code = "ValidationError"

    @classmethod
    def of(cls, problems: Sequence[Violation]) -> "ValidationError":
        """Returns the error with all violations of a request's members in one text."""
        return cls(describe_violations(problems), member=find_member(problems))

    @classmethod
    def missing(cls, path: str) -> "ValidationError":
        """Returns the error for a missing member. AWS writes `Tags.1.Key` as `tags.1.member.key`."""
        parts = [f"{part}.member" if part.isdigit() else part[:1].lower() + part[1:] for part in path.split(".")]
        return cls.of([Violation("null", ".".join(parts), "Member must not be null")])


class NotFound(SnsError):
    json_type = "NotFoundException"
    query_code = "NotFound"
    status = 404
    default_message = "Topic does not exist"


class TopicResourceNotFound(SnsError):
    """The tags belong to a topic that does not exist."""

    json_type = "ResourceNotFoundException"
    query_code = "ResourceNotFound"
    status = 404
    default_message = "Resource does not exist"


class AuthorizationError(SnsError):
    is_access_error = True
    json_type = "AuthorizationErrorException"
    query_code = "AuthorizationError"
    status = 403


class FilterPolicyLimitExceeded(SnsError):
    json_type = "FilterPolicyLimitExceededException"
    query_code = "FilterPolicyLimitExceeded"
    status = 403
    default_message = "The number of filter policies exceeds the limit of the topic or of the account"


class SubscriptionLimitExceeded(SnsError):
    json_type = "SubscriptionLimitExceededException"
    query_code = "SubscriptionLimitExceeded"
    status = 403
    default_message = "The number of subscriptions exceeds the limit of the topic"


class TopicLimitExceeded(SnsError):
    json_type = "TopicLimitExceededException"
    query_code = "TopicLimitExceeded"
    status = 403


class TagLimitExceeded(SnsError):
    json_type = "TagLimitExceededException"
    query_code = "TagLimitExceeded"
    default_message = "Could not complete request: tag quota of per resource exceeded"


class Throttled(SnsError):
    json_type = "ThrottledException"
    query_code = "Throttled"
    status = 429
    retry_after_seconds = 1


class InvalidState(SnsError):
    """AWS's text for the deletion of a topic with an archive (pulumi/pulumi-aws, issue 4370; aws/aws-cdk, pull request
    37113)."""

    json_type = "InvalidStateException"
    query_code = "InvalidState"
    default_message = "Invalid state: Cannot delete a topic with an ArchivePolicy"


class TopicEmptyBatchRequest(SnsError):
    json_type = "EmptyBatchRequestException"
    query_code = "EmptyBatchRequest"
    default_message = "The batch request doesn't contain any entries."


class TopicTooManyEntriesInBatchRequest(SnsError):
    json_type = "TooManyEntriesInBatchRequestException"
    query_code = "TooManyEntriesInBatchRequest"
    default_message = "The batch request contains more entries than permissible."


class TopicBatchEntryIdsNotDistinct(SnsError):
    json_type = "BatchEntryIdsNotDistinctException"
    query_code = "BatchEntryIdsNotDistinct"
    default_message = "Two or more batch entries in the request have the same Id."


class TopicInvalidBatchEntryId(SnsError):
    json_type = "InvalidBatchEntryIdException"
    query_code = "InvalidBatchEntryId"


class TopicBatchRequestTooLong(SnsError):
    json_type = "BatchRequestTooLongException"
    query_code = "BatchRequestTooLong"
    default_message = "The length of all the messages put together is more than the limit."


class EndpointDisabled(SnsError):
    json_type = "EndpointDisabledException"
    query_code = "EndpointDisabled"
    default_message = "Endpoint is disabled"


class PlatformApplicationDisabled(SnsError):
    json_type = "PlatformApplicationDisabledException"
    query_code = "PlatformApplicationDisabled"
    default_message = "The platform application is disabled"


class OptedOut(SnsError):
    json_type = "OptedOutException"
    query_code = "OptedOut"
    default_message = "The phone number is opted out of receiving text messages"


class UserError(SnsError):
    json_type = "UserErrorException"
    query_code = "UserError"


class Verification(SnsError):
    """The password of a phone number is wrong.

    In the model the exception's only code is its name. The model requires a `Status`, "the status of the verification
    error", but does not list its values. The value `Failed` is Penstock's choice.
    """

    json_type = "VerificationException"
    query_code = "VerificationException"
    default_message = "The one-time password is wrong or has expired"
    more_members = MappingProxyType({"Status": "Failed"})


class InternalError(SnsError):
    """The SNS counterpart of SQS's InternalFailure."""

    json_type = "InternalErrorException"
    query_code = "InternalError"
    status = 500
    sender_fault = False
    default_message = InternalFailure.default_message


SNS_ERRORS: dict[str, type[SnsError]] = {
    error.__name__: error
    for error in (
        InvalidParameter, ParameterValueInvalid, ValidationError, NotFound, TopicResourceNotFound,
        AuthorizationError, FilterPolicyLimitExceeded, SubscriptionLimitExceeded, TopicLimitExceeded,
        TagLimitExceeded, Throttled, TopicEmptyBatchRequest, TopicTooManyEntriesInBatchRequest,
        TopicBatchEntryIdsNotDistinct, TopicInvalidBatchEntryId, TopicBatchRequestTooLong, EndpointDisabled,
        PlatformApplicationDisabled, OptedOut, UserError, Verification, InternalError,
        InvalidState,
    )
}  # fmt: skip


# SNS's names for errors that all services share.
SNS_NAMES: dict[type[AwsError], type[SnsError]] = {
    AccessDenied: AuthorizationError,
    InternalFailure: InternalError,
    RequestThrottled: Throttled,
}


def as_sns_error(error: AwsError) -> AwsError:
    """Returns the error under its SNS name."""
    named = SNS_NAMES.get(type(error))
    return error if named is None else named(error.message)
