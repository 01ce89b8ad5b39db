"""The errors of event source mappings.

Names, statuses and members come from botocore's model `lambda/2015-03-31`. In the model, the name of the message's
member starts with a capital letter only in some errors.
"""

# ruff: noqa: N818 - the classes have the names of AWS's errors

from collections.abc import Mapping
from types import MappingProxyType

from penstock import errors
from penstock.aws.codec.errors import ConstraintViolation
from penstock.errors import AwsError

OF_USER: Mapping[str, str] = MappingProxyType({"Type": "User"})


class LambdaError(AwsError):
    """Base class of this API's errors."""

    namespace = "com.amazonaws.lambda"


class InvalidParameterValueException(LambdaError):
    json_type = query_code = "InvalidParameterValueException"
    more_members = OF_USER
    message_member = "message"


class NoSuchQueue(InvalidParameterValueException):
    """A mapping's queue does not exist. As on AWS, a missing queue is an invalid parameter."""


class TooManyMappings(InvalidParameterValueException):
    """The account has as many mappings as QUOTA_MAPPINGS allows. AWS has no such quota, so the error is Penstock's
    choice."""


class ResourceConflictException(LambdaError):
    json_type = query_code = "ResourceConflictException"
    status = 409
    more_members = OF_USER
    message_member = "message"


class ResourceNotFoundException(LambdaError):
    json_type = query_code = "ResourceNotFoundException"
    status = 404
    more_members = OF_USER
    default_message = "The resource you requested does not exist."


class TooManyRequestsException(LambdaError):
    json_type = query_code = "TooManyRequestsException"
    status = 429
    retry_after_seconds = 1
    more_members = OF_USER
    message_member = "message"


class ServiceException(LambdaError):
    json_type = query_code = "ServiceException"
    status = 500
    sender_fault = False
    more_members = MappingProxyType({"Type": "Service"})


class LambdaValidationException(LambdaError):
    """A member violates a limit of the model. AWS sends this error without the member Type."""

    json_type = query_code = "ValidationException"
    message_member = "message"


class LambdaSerializationException(LambdaError):
    """The request does not have the form of the model."""

    json_type = query_code = "SerializationException"
    more_members = OF_USER


def as_lambda_error(error: AwsError) -> AwsError:
    """Returns Lambda's error if Lambda uses another name or status. Returns any other error unchanged."""
    if isinstance(error, errors.RequestThrottled):
        return TooManyRequestsException(error.message)
    if isinstance(error, ConstraintViolation):
        return LambdaValidationException(error.message, member=error.member)
    if isinstance(error, errors.SerializationException):
        return LambdaSerializationException(error.message)
    return ServiceException(error.message) if type(error) is errors.InternalFailure else error
