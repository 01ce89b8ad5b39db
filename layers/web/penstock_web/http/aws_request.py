"""Runs and answers one AWS request, usually without ASGI and without a task.

    HttpConnection ─► start ─► decode ─► operation ─► encode ─► _respond ─► HttpConnection
                                        (OperationRun)  └─ error ─┘

The callbacks of the effects continue the operation (`driver`). The connection tells a request that the client has
disconnected or that the process is ending. `Deadlines` handles the request as a `PendingRequest`. An `AsgiRequest`
first reads the whole body, and then continues like an AwsRequest.
"""

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, cast

from penstock.actions import UNDECODED
from penstock.errors import RequestTimeout, ServiceUnavailable
from penstock.gateway import ActionCall, decode, encode
from penstock.http import HttpRequest, HttpResponse
from penstock_web.access_log.writer import describe_action
from penstock_web.runtime.deadlines import UNKNOWN_ACTION, EndReason
from penstock_web.runtime.driver import OperationRun

if TYPE_CHECKING:
    from .aws_protocols import AwsApplication
    from .request_notes import RequestNotes, RequestTrace


class ResponseConnection(Protocol):
    """Declares the methods of the connection that a request uses. `peer` is the client's address."""

    @property
    def peer(self) -> str: ...

    def write_response(self, response: HttpResponse, keep_alive: bool, /) -> None: ...


class AwsRequest:
    """Represents a running AWS request. Runs the operation, and writes, counts and logs the response.

    `keep_alive` says whether the connection serves further requests. `may_wait` is true if the body is short, so that a
    receive can wait for messages. `_notes` holds facts for the span of a recorded request. `_trace` ends with the
    request.
    """

    __slots__ = (
        "_application", "_call", "_end_reason", "_logged", "_method", "_notes", "_run", "_started_at", "_trace",
        "_writer", "disconnected", "keep_alive", "may_wait", "response_complete",
    )  # fmt: skip

    def __init__(self, writer: ResponseConnection, application: "AwsApplication") -> None:
        self._writer = writer
        self._application = application
        self._started_at = perf_counter()
        self._run: OperationRun[Any] | None = None
        self._call: ActionCall | None = None
        self._end_reason: EndReason | None = None
        # The request's head and the size of the body, for the access log.
        self._logged: tuple[HttpRequest, int] | None = None
        self._notes: RequestNotes | None = None
        self._trace: RequestTrace | None = None
        self.disconnected = False
        self.keep_alive = True
        self.may_wait = True
        self.response_complete = False
        application.meter.request_started()

    # --- the operation -----------------------------------------------------------------------------------------------
    def start(
        self, method: str, path: str, query: bytes, header_pairs: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> None:
        """Begins a request that has arrived completely. The request writes the response either during this call or
        later."""
        application = self._application
        self._method = method
        http = HttpRequest(method, path, query, application.headers(header_pairs), body, self._writer.peer)
        if application.resources.access_log is not None:
            self._logged = http.without_body, len(body)
        if application.tracer is not None:
            self._trace = trace = application.tracer.begin(method, path, header_pairs, self._writer.peer)
            self._notes = None if trace is None else trace.notes
            if trace is not None:
                with trace:
                    self._decode_and_start(http)
                return
        self._decode_and_start(http)

    def _decode_and_start(self, http: HttpRequest) -> None:
        try:
            self._call = call = decode(http, self._application.environment)
        except Exception as error:  # noqa: BLE001 - every error gets a response
            self._refuse(http, error)
            return
        self._application.deadlines.add(self)
        self._start_operation(call)

    def _start_operation(self, call: ActionCall) -> None:
        if self._notes is not None:
            self._notes.watch(call)
        self._run = OperationRun(call.operation(), self._application.resources, self._on_end, self)
        self._run.go_on()

    def _on_end(self, run: OperationRun[Any]) -> None:
        # The error refers to this request through its traceback. Clearing `_run` breaks the reference cycle, so the
        # garbage collector need not free it.
        self._run = None
        if run.is_cancelled:
            self._respond_cancelled()
            return
        if run.error is not None:
            self._fail(run.error)
            return
        try:
            response = encode(cast("ActionCall", self._call), run.result)
        except Exception as error:  # noqa: BLE001 - every error gets a response
            self._fail(error)
        else:
            self._respond(response)

    # --- the response ------------------------------------------------------------------------------------------------
    def _refuse(self, http: HttpRequest, error: Exception) -> None:
        """Answers a request that could not be decoded."""
        self._note(error)
        self._respond(self._application.refusal(http, error))

    def _fail(self, error: BaseException) -> None:
        self._note(error)
        self._respond(self._application.build_error_response(cast("ActionCall", self._call), error))

    def _note(self, error: BaseException) -> None:
        if self._notes is not None:
            self._notes.fail(error)

    def _respond_cancelled(self) -> None:
        if self._end_reason is EndReason.DISCONNECTED:
            self._respond(None)
        else:
            self.keep_alive = False
            self._fail(RequestTimeout() if self._end_reason is EndReason.TIMED_OUT else ServiceUnavailable())

    def _respond(self, response: HttpResponse | None) -> None:
        """Ends the request. `response` is None if the client has disconnected."""
        self.response_complete = True
        application = self._application
        application.deadlines.due.pop(self, None)
        application.meter.request_ended()
        if response is not None and not self.disconnected:
            self._writer.write_response(response, self.keep_alive)
            seconds = perf_counter() - self._started_at
            application.meter.count_response(self._method, self._label, response.status, seconds)
            self._log(response)
        else:
            self._log(None)
        if self._trace is not None:
            self._trace.end(self._method, response)

    @property
    def _label(self) -> str:
        action = UNDECODED if self._call is None else self._call.action
        return UNKNOWN_ACTION if action is UNDECODED else action.label

    def _log(self, response: HttpResponse | None) -> None:
        """Adds the request to the access log, if the log is on. `response` is None if the client has disconnected."""
        log, logged = self._application.resources.access_log, self._logged
        if log is not None and logged is not None:
            seconds, settings = perf_counter() - self._started_at, self._application.environment.settings
            answered = describe_action(logged[0], self._label, response, seconds, logged[1], settings)
            log.add(answered, None if self._call is None else self._call.context)

    # --- called by the connection ------------------------------------------------------------------------------------
    def disconnect(self) -> None:
        """Ends the request without a response after its client has disconnected."""
        if not self.response_complete:
            self.disconnected = True
            self.end(EndReason.DISCONNECTED)

    # --- a pending request -------------------------------------------------------------------------------------------
    def pause(self) -> None:
        """Pauses the deadline during a wait."""
        self._application.deadlines.due.pop(self, None)

    def resume(self) -> None:
        """Restarts the deadline from the beginning after a wait."""
        self._application.deadlines.add(self)

    def end(self, reason: EndReason) -> None:
        """Ends the request early. If the client has disconnected, other requests get the messages that this request has
        received."""
        if self._end_reason is None:
            self._end_reason = reason
            if self._run is not None:
                self._run.cancel(disconnected=reason is EndReason.DISCONNECTED)

    def stop(self) -> None:
        """Answers 503 when the process ends."""
        self.end(EndReason.SHUTDOWN)
