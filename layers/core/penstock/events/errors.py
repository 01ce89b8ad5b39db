"""Defines the errors of the event bus.

Names and statuses are in botocore's model `eventbridgev2/2025-05-15`, which contains two further errors. Penstock
queues concurrent changes, so ConcurrentModificationException never occurs, and it has no schema registries. The model
contains no texts. The texts are
Penstock's choice unless a comment names a source.
"""

# ruff: noqa: N818 - the classes have the names of AWS's errors

from penstock import errors
from penstock.aws.codec.errors import ConstraintViolation
from penstock.aws.codec.limits import describe_violations
from penstock.errors import AwsError


class EventsError(AwsError):
    """Base class of the event bus's errors."""

    namespace = "com.amazonaws.eventbridgev2"


class InvalidInputException(EventsError):
    json_type = query_code = "InvalidInputException"


class ResourceNotFoundException(EventsError):
    json_type = query_code = "ResourceNotFoundException"
    status = 404

    @classmethod
    def of(cls, arn: str) -> "ResourceNotFoundException":
        """Returns the error for an ARN that names no resource of this kind."""
        return cls(f"The resource {arn} does not exist.")


class ResourceAlreadyExistsException(EventsError):
    json_type = query_code = "ResourceAlreadyExistsException"
    status = 409


class ResourceInUseException(EventsError):
    json_type = query_code = "ResourceInUseException"
    status = 409


class InvalidStateException(EventsError):
    json_type = query_code = "InvalidStateException"
    status = 409


class ConflictException(EventsError):
    json_type = query_code = "ConflictException"
    status = 409


class IdempotentParameterMismatchException(EventsError):
    json_type = query_code = "IdempotentParameterMismatchException"
    status = 409
    default_message = "The ClientToken belongs to an earlier request with other parameters."


class LimitExceededException(EventsError):
    json_type = query_code = "LimitExceededException"


class PolicyLengthExceededException(EventsError):
    json_type = query_code = "PolicyLengthExceededException"


class PublicPolicyException(EventsError):
    json_type = query_code = "PublicPolicyException"


class AccessDeniedException(EventsError):
    json_type = query_code = "AccessDeniedException"
    status = 403
    is_access_error = True


class ThrottlingException(EventsError):
    json_type = query_code = "ThrottlingException"
    status = 429
    retry_after_seconds = 1
    default_message = "Rate exceeded."


class InternalException(EventsError):
    json_type = query_code = "InternalException"
    status = 500
    sender_fault = False


# --- requests to webhooks, which REST formats -------------------------------------------------------------------------
class WebhookRefused(AwsError):
    """The request has no valid token, password or signature. The text does not quote the request."""

    json_type = query_code = "WebhookRefused"
    status = 401
    is_access_error = True


class WebhookNotFound(AwsError):
    json_type = query_code = "WebhookNotFound"
    status = 404
    default_message = "This URL belongs to no webhook."


def as_events_error(error: AwsError) -> AwsError:
    """Converts an error to the event bus's format. The status can change.

    The text about violated constraints does not quote the values, because patterns and parameters can be secret.
    """
    if isinstance(error, ConstraintViolation):
        text = describe_violations([problem._replace(shown="") for problem in error.problems])
        return InvalidInputException(text, member=error.member)
    if isinstance(error, errors.AccessDenied):
        return AccessDeniedException(error.message)
    if isinstance(error, errors.RequestThrottled):
        return ThrottlingException()
    return InternalException(error.message) if isinstance(error, errors.InternalFailure) else error
