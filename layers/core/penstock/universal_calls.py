"""The calls of universal targets, with the types of the services that they call."""

from typing import Final, Literal, NamedTuple

import msgspec
import msgspec.structs

from .aws.codec import json
from .aws.codec.names import Document, Request, Unsupported
from .aws.json_text import decode_json
from .aws.universal_target import (
    INVOKE,
    PUBLISH,
    SEND_MESSAGE,
    UniversalAction,
    UniversalTargetInvalid,
    find_resource,
    read_input,
)
from .context import Context
from .errors import AwsError
from .sns.types import PublishRequest
from .sqs.types import SendMessageRequest


class InvokeRequest(Request):
    """The members of Invoke in a universal target ("Invoke", AWS Lambda API reference). Payload is the text of the
    event, or the event itself."""

    function_name: str
    invocation_type: Literal["Event", "RequestResponse"] = "RequestResponse"
    payload: Document = None
    qualifier: str | None = None
    client_context: Unsupported = None
    durable_execution_name: Unsupported = None
    isolation_id: Unsupported = msgspec.field(name="TenantId", default=None)


CallRequest = SendMessageRequest | PublishRequest | InvokeRequest
REQUESTS: Final[dict[UniversalAction, type[CallRequest]]] = {
    SEND_MESSAGE: SendMessageRequest,
    PUBLISH: PublishRequest,
    INVOKE: InvokeRequest,
}
_NAMES: Final = {
    action: frozenset(each.encode_name for each in msgspec.structs.fields(request))
    for action, request in REQUESTS.items()
}
_UNSUPPORTED: Final = {
    "client_context": "ClientContext",
    "durable_execution_name": "DurableExecutionName",
    "isolation_id": "TenantId",
}


class UniversalCall(NamedTuple):
    """A request, and the ARN of its queue, topic or function."""

    request: CallRequest
    arn: str


def read_call(action: UniversalAction, text: str, context: Context) -> UniversalCall:
    """Returns the call in an input. `context` has the account and region of names. Raises UniversalTargetInvalid.

    The service checks the values of the request when it executes the call, as on AWS.
    """
    document = read_input(action, text)
    unknown = [name for name in document if name not in _NAMES[action]]
    if unknown:
        raise UniversalTargetInvalid(f"Input has unknown member(s): {', '.join(map(repr, unknown[:3]))}.")
    arn = find_resource(action, document, context)
    try:
        request: CallRequest = json.build_decoder(REQUESTS[action])(text.encode())
    except (AwsError, UnicodeEncodeError) as error:
        reason = error.message if isinstance(error, AwsError) else "Input has a lone surrogate."
        raise UniversalTargetInvalid(f"Input is not a request of {action.label}: {reason}") from None
    if isinstance(request, InvokeRequest):
        _check_invocation(request)
    return UniversalCall(request, arn)


def _check_invocation(request: InvokeRequest) -> None:
    for attribute, name in _UNSUPPORTED.items():
        if getattr(request, attribute) is not None:
            raise UniversalTargetInvalid(f"Input has {name}, which Penstock does not support.")
    if request.invocation_type not in ("Event", "RequestResponse"):
        raise UniversalTargetInvalid("Input.InvocationType must be Event or RequestResponse.")
    build_payload(request)


def build_payload(request: InvokeRequest) -> str:
    """Returns the event of an invocation. Without a Payload, the event is an empty object. Raises
    UniversalTargetInvalid for a text that is not JSON."""
    if request.payload is None:
        return "{}"
    if not isinstance(request.payload, str):
        return msgspec.json.encode(request.payload).decode()
    try:
        decode_json(request.payload)
    except (ValueError, RecursionError):
        raise UniversalTargetInvalid("Input.Payload is not JSON.") from None
    return request.payload
