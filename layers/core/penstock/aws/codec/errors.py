"""The errors that the services with REST-JSON share ("Common Errors", EventBridge Scheduler API reference)."""

# ruff: noqa: N818 - the classes have the names of AWS's errors

from collections.abc import Mapping

from penstock import errors
from penstock.errors import AwsError

from .limits import Problems, describe_violations, find_member

# The names of errors that all services share.
COMMON_NAMES: Mapping[type[AwsError], str] = {
    errors.AccessDenied: "AccessDeniedException",
    errors.ExpiredToken: "ExpiredTokenException",
    errors.IncompleteSignature: "IncompleteSignatureException",
    errors.InternalFailure: "InternalServerException",
    errors.InvalidClientTokenId: "UnrecognizedClientException",
    errors.MissingAuthenticationToken: "MissingAuthenticationTokenException",
    errors.RequestEntityTooLarge: "RequestEntityTooLargeException",
    errors.RequestTimeout: "RequestTimeoutException",
    errors.ServiceUnavailable: "ServiceUnavailableException",
    errors.SignatureDoesNotMatch: "InvalidSignatureException",
}


def name_error(error: AwsError) -> str:
    """Returns the error's name in responses. A subclass has the name of its base class."""
    return next((COMMON_NAMES[kind] for kind in type(error).__mro__ if kind in COMMON_NAMES), error.json_type)


class ConstraintViolation(AwsError):
    """One or more members of a request violate their constraints."""

    json_type = query_code = "ValidationException"

    def __init__(self, problems: Problems) -> None:
        super().__init__(describe_violations(problems), member=find_member(problems))
        self.problems = problems


class UnknownOperationException(AwsError):
    """No action has this method and path. In CBOR, all services have this error."""

    namespace = errors.CORAL
    json_type = query_code = "UnknownOperationException"
    status = 404
    default_message = "No operation of this service has this method and path."
