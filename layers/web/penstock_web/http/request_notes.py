"""Collects facts of an AWS request for its span, while the request is recorded."""

from collections.abc import Callable, MutableMapping, Sequence
from types import TracebackType
from typing import Any, Final, Protocol

from msgspec import Struct

from penstock.actions import UNDECODED, AnyAction
from penstock.aws.queue_url import LONGEST_URL
from penstock.errors import AwsError, InternalFailure
from penstock.gateway import ActionCall, DecodedRequest, GuardedActionCall, RejectedRequest
from penstock.http import HttpResponse

KEY: Final = "penstock.request_trace"
"""An ASGI scope holds the RequestTrace of its request under this key."""


class RequestNotes:
    """`action` is None if no action could be decoded. `request` has the members of the request. `error` is the code of
    the error, or "".
    """

    __slots__ = ("action", "error", "queue_url", "topic_arn")

    def __init__(self) -> None:
        self.action: AnyAction | None = None
        self.error = ""
        self.queue_url = self.topic_arn = ""

    def watch(self, call: ActionCall) -> None:
        """Notes the action and the members of the call, at once or after the check of the signature."""
        if isinstance(call, GuardedActionCall) and call.decoder is not None:
            call.decoder = self._noting(call.decoder)
        elif call.action is not UNDECODED:
            self._note(call.action, call.request)

    def fail(self, error: BaseException) -> None:
        """Notes the error that ends the request."""
        known = error.error if isinstance(error, RejectedRequest) else error
        kind = known if isinstance(known, AwsError) else InternalFailure
        self.error = kind.json_type.rpartition("#")[2]

    @property
    def destination(self) -> str:
        """Returns the name of the queue or topic, or "" if the request names none."""
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
        self.queue_url = queue_url if len(queue_url) <= LONGEST_URL else ""
        topic_arn = getattr(request, "topic_arn", None) or getattr(request, "target_arn", None) or ""
        self.topic_arn = topic_arn if len(topic_arn) <= LONGEST_URL else ""


class RequestTrace(Protocol):
    """The trace of a request. The object is the current trace while it is used as a context manager.

    `notes` is None if the request is not recorded.
    """

    notes: RequestNotes | None

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def end(self, method: str, response: HttpResponse | None) -> None:
        """Ends the span. Without a response, the client has disconnected."""


class RequestTracer(Protocol):
    """Decides which requests are recorded."""

    def begin(
        self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], peer: str
    ) -> RequestTrace | None:
        """Returns the trace of a request, or None if the request has no trace."""


def find_trace(scope: MutableMapping[str, Any]) -> RequestTrace | None:
    """Returns the trace of a request that comes through ASGI."""
    trace: RequestTrace | None = scope.get(KEY)
    return trace
