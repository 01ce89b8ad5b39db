"""Collects the facts about a recorded AWS request for its span."""

from collections.abc import Callable, MutableMapping, Sequence
from types import TracebackType
from typing import Any, Final, Protocol

from msgspec import Struct

from penstock.actions import UNDECODED, AnyAction
from penstock.aws.queue_url import MAX_URL_LENGTH
from penstock.errors import AwsError, InternalFailure
from penstock.gateway import ActionCall, DecodedRequest, GuardedActionCall, RejectedRequest
from penstock.http import HttpResponse

KEY: Final = "penstock.request_trace"
"""An ASGI scope stores the request's RequestTrace under KEY."""


class RequestNotes:
    """`action` is None if the request does not name a known action. `request` contains the members of the request.
    `error` is the error code, or an empty string.
    """

    __slots__ = ("action", "error", "queue_url", "topic_arn")

    def __init__(self) -> None:
        self.action: AnyAction | None = None
        self.error = ""
        self.queue_url = self.topic_arn = ""

    def watch(self, call: ActionCall) -> None:
        """Records the call's action and members, either immediately or after the signature check."""
        if isinstance(call, GuardedActionCall) and call.decoder is not None:
            call.decoder = self._noting(call.decoder)
        elif call.action is not UNDECODED:
            self._note(call.action, call.request)

    def fail(self, error: BaseException) -> None:
        """Records the error that the response contains."""
        known = error.error if isinstance(error, RejectedRequest) else error
        kind = known if isinstance(known, AwsError) else InternalFailure
        self.error = kind.json_type.rpartition("#")[2]

    @property
    def destination(self) -> str:
        """Returns the queue's or topic's name, or ""."""
        return self.queue_url.rpartition("/")[2] or self.topic_arn.rpartition(":")[2]

    def _noting(self, decoder: Callable[[], DecodedRequest]) -> Callable[[], DecodedRequest]:
        def decode_and_note() -> DecodedRequest:
            decoded = decoder()
            self._note(decoded.action, decoded.request)
            return decoded

        return decode_and_note

    def _note(self, action: AnyAction, request: Struct) -> None:
        self.action = action
        queue_url = getattr(request, "queue_url", None) or ""
        self.queue_url = queue_url if len(queue_url) <= MAX_URL_LENGTH else ""
        topic_arn = getattr(request, "topic_arn", None) or getattr(request, "target_arn", None) or ""
        self.topic_arn = topic_arn if len(topic_arn) <= MAX_URL_LENGTH else ""


class RequestTrace(Protocol):
    """A request's trace. Within a `with` block, this trace is the current trace.

    `notes` is None if the request is not recorded.
    """

    notes: RequestNotes | None

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def end(self, method: str, response: HttpResponse | None) -> None:
        """Ends the span. `response` is None if the client has disconnected."""


class RequestTracer(Protocol):
    """Decides which requests to record."""

    def begin(self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], peer: str) -> RequestTrace | None:
        """Starts and returns the trace of a request, or returns None if the request is not recorded."""


def find_trace(scope: MutableMapping[str, Any]) -> RequestTrace | None:
    """Returns the trace of a request that comes through ASGI."""
    trace: RequestTrace | None = scope.get(KEY)
    return trace
