"""A request that arrived whole, answered without ASGI and, mostly, without a task.

    HttpConnection ─► FastPathRequest.start ─► gateway.decode ─► operation ─► Batcher
        ─► AwsApplication's response ─► transport

The operation goes on in the callbacks of its effects' futures (`driver`). The connection tells the request about a
disconnect and about the end of the process; `Deadlines` treats it as a `PendingRequest`.
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


class ResponseWriter(Protocol):
    """What a request needs of the protocol of its connection. `peer`: the address that it came from."""

    @property
    def peer(self) -> str: ...

    def write_response(self, response: HttpResponse, keep_alive: bool, /) -> None: ...


class FastPathRequest:
    """One request of a connection, which reads `response_complete` and sets `keep_alive`."""

    __slots__ = (
        "_application", "_call", "_end_reason", "_logged", "_method", "_protocol", "_run", "_started_at",
        "disconnected", "keep_alive", "response_complete",
    )  # fmt: skip
    may_wait = True  # its body is short

    def __init__(self, protocol: ResponseWriter, application: "AwsApplication") -> None:
        self._protocol = protocol
        self._application = application
        self._started_at = perf_counter()
        self._run: OperationRun[Any] | None = None
        self._call: ActionCall | None = None
        self._end_reason: EndReason | None = None
        self._logged: tuple[HttpRequest, int] | None = None  # for the access log, with the size of the body
        self.disconnected = False
        self.keep_alive = True
        self.response_complete = False

    # --- the request -------------------------------------------------------------------------------------------------
    def start(
        self, method: str, path: str, query: bytes, header_pairs: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> None:
        """Begins the request; the response is written at once or later."""
        application = self._application
        application.resources.meter.request_started()
        self._method = method
        http = HttpRequest(method, path, query, application.headers(header_pairs), body, self._protocol.peer)
        self._logged = None if application.resources.access_log is None else (http.without_body, len(body))
        try:
            call = self._call = decode(http, application.environment)
        except Exception as error:  # noqa: BLE001 - every error gets a response
            self._respond(application.refusal(http, error))
            return
        application.deadlines.add(self)
        self._run = OperationRun(call.operation(), application.resources, self._on_end, self)
        self._run.go_on()

    def _on_end(self, run: OperationRun[Any]) -> None:
        self._run = None  # it refers to this request, too: a cycle that the collector would have to free
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
    def _fail(self, error: BaseException) -> None:
        self._respond(self._application.error_response(cast("ActionCall", self._call), error))

    def _respond_cancelled(self) -> None:
        if self._end_reason is EndReason.DISCONNECTED:
            self._close()
            self._log(None)
        else:
            self.keep_alive = False
            self._fail(RequestTimeout() if self._end_reason is EndReason.TIMED_OUT else ServiceUnavailable())

    def _close(self) -> None:
        self.response_complete = True
        self._application.deadlines.due.pop(self, None)
        self._application.resources.meter.request_ended()

    def _respond(self, response: HttpResponse) -> None:
        self._close()
        if self.disconnected:
            self._log(None)
            return
        self._protocol.write_response(response, self.keep_alive)
        seconds = perf_counter() - self._started_at
        self._application.resources.meter.count_response(self._method, self._label, response.status, seconds)
        self._log(response)

    @property
    def _label(self) -> str:
        action = UNDECODED if self._call is None else self._call.action
        return UNKNOWN_ACTION if action is UNDECODED else action.label

    def _log(self, response: HttpResponse | None) -> None:
        """Notes the request in the access log, if there is one. No response: the client has disconnected."""
        log, logged = self._application.resources.access_log, self._logged
        if log is not None and logged is not None:
            seconds, settings = perf_counter() - self._started_at, self._application.environment.settings
            answered = describe_action(logged[0], self._label, response, seconds, logged[1], settings)
            log.add(answered, None if self._call is None else self._call.context)

    # --- called by the connection ------------------------------------------------------------------------------------
    def disconnect(self) -> None:
        """Ends the request, whose client has disconnected; it gets no response."""
        if not self.response_complete:
            self.disconnected = True
            self.end(EndReason.DISCONNECTED)

    # --- a pending request -------------------------------------------------------------------------------------------
    def pause(self) -> None:
        """Stops counting the time: a wait begins."""
        self._application.deadlines.due.pop(self, None)

    def resume(self) -> None:
        """Counts the time from zero: the wait is over."""
        self._application.deadlines.add(self)

    def end(self, reason: EndReason) -> None:
        """Ends the request early. Messages that were received for a disconnected client go to other requests."""
        if self._end_reason is None:
            self._end_reason = reason
            if self._run is not None:
                self._run.cancel(disconnected=reason is EndReason.DISCONNECTED)

    def stop(self) -> None:
        """Answers 503: there is no task that the server could cancel."""
        self.end(EndReason.SHUTDOWN)
