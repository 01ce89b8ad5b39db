"""Why an invocation has no result.

InvocationError
    FunctionError          the function raised an error, exceeded its time or its memory, or its process ended
        ResultTooLargeError    the result is larger than that of a synchronous invocation may be
    TooManyRequestsError   all environments that the function may have are busy: 429 of Lambda's Invoke
    RequestTooLargeError   the event is larger than a synchronous invocation may have: 413

Source: Lambda API Reference, "Invoke", https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html#API_Invoke_Errors
"""


class InvocationError(Exception):
    """The invocation has no result."""


class FunctionError(InvocationError):
    """The function was invoked and failed."""


class ResultTooLargeError(FunctionError):
    """The caller does not get the result; AWS's runtime ends its process when the Runtime API refuses one."""


class TooManyRequestsError(InvocationError):
    """The function was not invoked: its concurrency, or that of the account, is exhausted."""


class RequestTooLargeError(InvocationError):
    """The function was not invoked: the event is too large."""
