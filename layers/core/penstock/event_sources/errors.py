"""The errors of event source mappings. Their names and statuses are those of botocore's model `lambda/2015-03-31`."""

# ruff: noqa: N818 - the classes have the names of AWS's errors

from penstock import errors
from penstock.errors import AwsError


class LambdaError(AwsError):
    """Base class of this API's errors."""

    namespace = "com.amazonaws.lambda"


class InvalidParameterValueException(LambdaError):
    json_type = query_code = "InvalidParameterValueException"


class NoSuchQueue(InvalidParameterValueException):
    """The queue of a mapping does not exist. AWS's API treats this as an invalid parameter."""


class TooManyMappings(InvalidParameterValueException):
    """QUOTA_MAPPINGS is reached. AWS has no such quota; we chose one of its errors."""


class ResourceConflictException(LambdaError):
    json_type = query_code = "ResourceConflictException"
    status = 409


class ResourceNotFoundException(LambdaError):
    json_type = query_code = "ResourceNotFoundException"
    status = 404
    default_message = "The resource you requested does not exist."


class TooManyRequestsException(LambdaError):
    json_type = query_code = "TooManyRequestsException"
    status = 429
    retry_after_seconds = 1


class ServiceException(LambdaError):
    json_type = query_code = "ServiceException"
    status = 500
    sender_fault = False


def as_lambda_error(error: AwsError) -> AwsError:
    """Returns the error in Lambda's form, if Lambda uses another name or status."""
    if isinstance(error, errors.RequestThrottled):
        return TooManyRequestsException(error.message)
    return ServiceException(error.message) if type(error) is errors.InternalFailure else error
