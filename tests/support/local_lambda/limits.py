"""Defines AWS's limits for functions, and the errors of invocations. AWS writes MB for 2**20 bytes.

"Lambda quotas", https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    Invocation payload (request and response): 6 MB each, synchronous
    Deployment package: 250 MB of contents, unzipped, including layers
    /tmp directory storage: 512 MB by default
"Quotas for configuring and running an HTTP API in API Gateway",
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
    Maximum integration timeout: 30 seconds. Payload size: 10 MB
"Use Lambda functions as targets of an Application Load Balancer",
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html
    Maximum size of the request body: 1 MB. Maximum size of the response JSON: 1 MB
"Introducing NLB TCP configurable idle timeout",
https://aws.amazon.com/blogs/networking-and-content-delivery/introducing-nlb-tcp-configurable-idle-timeout/
    The load balancer forgets a connection after 350 idle seconds. A client that then sends data receives a RST.

A size is the length of the event or the result as JSON, in which a body may be base64.

InvocationError                The invocation has no result.
    FunctionError              The function raised an error or exceeded its time or memory, or its process exited.
        ResultTooLargeError    The result exceeds the limit of a synchronous invocation.
    TooManyRequestsError       The concurrency is exhausted: status 429 of Lambda's Invoke.
    RequestTooLargeError       The event exceeds the limit of a synchronous invocation: status 413.

"Invoke" (Lambda API Reference), https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html#API_Invoke_Errors
"""

from typing import Final

MIB: Final = 2**20

INVOCATION_BYTES: Final = 6 * MIB
PACKAGE_BYTES: Final = 250 * MIB

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
    """The caller does not receive the result. AWS's runtime exits if the Runtime API refuses a result."""


class TooManyRequestsError(InvocationError):
    """Lambda refused the invocation, because the function's or the account's concurrency is exhausted."""


class RequestTooLargeError(InvocationError):
    """Lambda refused the invocation, because the event is too large."""
