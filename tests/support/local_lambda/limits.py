"""Defines AWS's limits of functions. AWS writes MB for 2**20 bytes.

"Lambda quotas", https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    Invocation payload (request and response): 6 MB each, synchronous
    Deployment package: 250 MB of contents, unzipped, including layers
    /tmp directory storage: 512 MB, unless the function says otherwise
"Quotas for configuring and running an HTTP API in API Gateway",
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
    Maximum integration timeout: 30 seconds. Payload size: 10 MB
"Use Lambda functions as targets of an Application Load Balancer",
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html
    The maximum size of the request body is 1 MB, that of the response JSON is 1 MB
"Introducing NLB TCP configurable idle timeout",
https://aws.amazon.com/blogs/networking-and-content-delivery/introducing-nlb-tcp-configurable-idle-timeout/
    A connection without traffic for 350 seconds is forgotten; whoever sends on it then gets a RST

Each size is the length of the passed text: the event or the result as JSON, in which a body may be in base64.

An error says why an invocation has no result.

InvocationError
    FunctionError          the function raised an error, exceeded its time or its memory, or its process ended
        ResultTooLargeError    the result is larger than that of a synchronous invocation may be
    TooManyRequestsError   all environments that the function may have are busy: 429 of Lambda's Invoke
    RequestTooLargeError   the event is larger than a synchronous invocation may have: 413

The source is the Lambda API Reference, "Invoke",
https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html#API_Invoke_Errors
"""

from typing import Final

MIB: Final = 2**20

INVOCATION_BYTES: Final = 6 * MIB
PACKAGE_BYTES: Final = 250 * MIB
TEMPORARY_BYTES: Final = 512 * MIB

HTTP_API_REQUEST_BYTES: Final = 10 * MIB
HTTP_API_SECONDS: Final = 30.0

BALANCER_REQUEST_BYTES: Final = MIB
BALANCER_RESPONSE_BYTES: Final = MIB

IDLE_CONNECTION_SECONDS: Final = 350.0


class InvocationError(Exception):
    """The invocation has no result."""


class FunctionError(InvocationError):
    """The function was invoked and failed."""


class ResultTooLargeError(FunctionError):
    """The caller does not get the result. AWS's runtime exits if the Runtime API refuses a result."""


class TooManyRequestsError(InvocationError):
    """Lambda refused the invocation, because the function's or the account's concurrency is exhausted."""


class RequestTooLargeError(InvocationError):
    """Lambda refused the invocation, because the event is too large."""
