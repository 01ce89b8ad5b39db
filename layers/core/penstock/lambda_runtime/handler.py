"""The handlers of Lambda functions: one for each action, and the gateway for requests that name the action only in the
body.

    handler = build_handler("sqs", "SendMessage")        # functions/sqs/send_message.py
    handler = build_gateway_handler()                     # functions/gateway.py

event -> `events.read` -> `gateway.decode` -> the operation -> `gateway.encode` -> `events.build_response`.
"""

from contextlib import suppress

from penstock import gateway
from penstock.actions import BY_NAME, load_operation, load_operations
from penstock.aws.codec.protocol import detect_protocol
from penstock.errors import AwsError, InternalFailure, ResponseTooLarge, ServiceUnavailable
from penstock.http import HttpRequest, HttpResponse
from penstock.observing.telemetry import annotate
from penstock.settings import SettingError
from penstock.sns.certificates import find_certificate, is_certificate

from . import events
from .environment import ExecutionEnvironment


class Handler:
    """The handler of a Lambda function. If `service` and `action` are given, the response to other actions is
    InvalidAction."""

    def __init__(self, service: str | None, action: str | None, environment: ExecutionEnvironment) -> None:
        self.service = service
        self.action = action
        self.environment = environment

    def __call__(self, event: events.Event, lambda_context: object) -> events.Response:
        """Returns the response to an HTTP event, in the format of the event's source. Raises events.UnknownEvent for
        any other event."""
        return self.environment.traced(lambda: self._response(event, lambda_context), lambda_context)

    def _response(self, event: events.Event, lambda_context: object) -> events.Response:
        http = events.read(event)
        limit = http.response_limit
        address = events.find_rest_address(event, http) if self.action is None else None
        if address is not None:
            return events.build_response(event, HttpResponse(308, [(b"location", address.encode())], b""))
        response = events.build_response(event, self.respond(http, lambda_context))
        if limit is None or events.is_within_limit(response, limit):
            return response
        too_large = ResponseTooLarge.of(limit.way)
        return events.build_response(event, self._failure(too_large, http, None, lambda_context))

    def respond(self, http: HttpRequest, lambda_context: object = None) -> HttpResponse:
        """Returns the response to a request. Every error becomes a response. Logs the errors that the service
        caused."""
        call = None
        try:
            if self.action is None and is_certificate(http.method, http.path):
                return self.environment.run(find_certificate(http.path))
            call = gateway.decode(http, self.environment.environment, self.service, self.action)
            return gateway.encode(call, self.environment.run(call.operation()))
        except gateway.RejectedRequest as refusal:
            annotate(error_type=type(refusal.error).__name__)
            return refusal.response()
        except Exception as error:  # noqa: BLE001 - the client must not see an internal error
            annotate(error_type=type(error).__name__)
            return self._failure(error, http, call, lambda_context)
        finally:
            if call is not None:
                annotate(action=call.action.label, request_id=call.context.request_id)

    def _failure(
        self, error: Exception, http: HttpRequest, call: gateway.ActionCall | None, lambda_context: object
    ) -> HttpResponse:
        request_id = call.context.request_id if call else self.environment.request_ids()
        answered = error if isinstance(error, AwsError) else InternalFailure()
        service = call.service if call else self.service or gateway.guess_service(http)
        if not answered.sender_fault:
            self._log(error, request_id, call, lambda_context)
        self._count(answered, service, call)
        return gateway.encode_error(detect_protocol(http.headers, http.path), answered, request_id, service)

    def _count(self, error: AwsError, service: str, call: gateway.ActionCall | None) -> None:
        action = call.action.name if call else self.action or "(unread)"
        with suppress(SettingError):  # _log has logged the error
            self.environment.metrics.count_error(service, action, error)

    def _log(self, error: Exception, request_id: str, call: gateway.ActionCall | None, lambda_context: object) -> None:
        known = {
            "request_id": request_id,
            "aws_request_id": getattr(lambda_context, "aws_request_id", None),
            "action": call.action.name if call else self.action,
        }
        if isinstance(error, ServiceUnavailable):  # the database failed, so the log needs no stack trace
            cause = str(error.__cause__ or error)
            self.environment.logger.warning("database unavailable", extra={**known, "cause": cause})
        else:
            self.environment.logger.error("request failed", extra=known, exc_info=error)


def build_handler(service: str, action: str) -> Handler:
    """Returns the handler of one action, such as ("sqs", "SendMessage")."""
    load_operation(BY_NAME[service, action])
    return Handler(service, action, ExecutionEnvironment.start())


def build_gateway_handler() -> Handler:
    """Returns the handler of every action of every service."""
    load_operations()
    return Handler(None, None, ExecutionEnvironment.start(bounds_waits=True))
