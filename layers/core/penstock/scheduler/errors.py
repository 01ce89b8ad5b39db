"""Defines the errors of EventBridge Scheduler.

Names and statuses are in botocore's model `scheduler/2021-06-30`. "Common Errors" of the EventBridge Scheduler API
reference lists the errors that all services share. A response names the error in the `x-amzn-errortype` header, and
the body is `{"Message": …}`.
"""

# ruff: noqa: N818 - the classes have the names of AWS's errors

from collections.abc import Sequence

from penstock import errors
from penstock.aws.codec.limits import MAX_QUOTED_LENGTH, Violation, describe_violations, find_member
from penstock.errors import AwsError


class SchedulerError(AwsError):
    """Base class of EventBridge Scheduler's errors."""

    namespace = "com.amazonaws.scheduler"


class ValidationException(SchedulerError):
    json_type = query_code = "ValidationException"
    violations: Sequence[Violation] = ()
    """The members of the request that violate their limits, or nothing for another error."""

    @classmethod
    def of(cls, problems: Sequence[Violation]) -> "ValidationException":
        """Returns one error whose text lists all problems of a request's members."""
        error = cls(describe_violations(problems), member=find_member(problems))
        error.violations = problems
        return error

    @classmethod
    def expression(cls, written: str, detail: str | None = None) -> "ValidationException":
        """Returns the error for a schedule expression, in AWS's text (LocalStack issue 9284 quotes it)."""
        return ExpressionInvalid(f"Invalid Schedule Expression {written}.", detail)

    @classmethod
    def of_member(
        cls, value: str | None, path: str, constraint: str, detail: str | None = None
    ) -> "ValidationException":
        """Returns AWS's error for a member such as `target.arn`. None means absent. The texts of constraints are
        Penstock's choice."""
        shown = "null" if value is None else f"'{value[:MAX_QUOTED_LENGTH]}'"
        error = cls.of([Violation(shown, path, f"Member must {constraint}")])
        error.detail = detail
        return error


class ExpressionInvalid(ValidationException):
    """The schedule expression is not valid."""


class ConflictException(SchedulerError):
    json_type = query_code = "ConflictException"
    status = 409

    @classmethod
    def exists(cls, what: str) -> "ConflictException":
        """Returns the error for an existing `what`, such as `Schedule nightly` or `Schedule group batch`."""
        return cls(f"{what} already exists.")


class ResourceNotFoundException(SchedulerError):
    json_type = query_code = "ResourceNotFoundException"
    status = 404

    @classmethod
    def missing(cls, what: str) -> "ResourceNotFoundException":
        """Returns the error for a missing `what`, such as `Schedule nightly` (text: aws-sdk-js-v3 issue 5720)."""
        return cls(f"{what} does not exist.")


class ScheduleGroupNotFound(ResourceNotFoundException):
    """The schedule group does not exist."""


class ServiceQuotaExceededException(SchedulerError):
    json_type = query_code = "ServiceQuotaExceededException"
    status = 402


class ThrottlingException(SchedulerError):
    json_type = query_code = "ThrottlingException"
    status = 429
    retry_after_seconds = 1


class InternalServerException(SchedulerError):
    json_type = query_code = "InternalServerException"
    status = 500
    sender_fault = False


def as_scheduler_error(error: AwsError) -> AwsError:
    """Converts an error to EventBridge Scheduler's format. The status can change."""
    return ThrottlingException(error.message) if isinstance(error, errors.RequestThrottled) else error
