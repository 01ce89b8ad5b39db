"""Converts HTTP requests to AWS's events for functions, and the functions' results to HTTP responses.

`penstock.lambda_runtime.events` names the sources: pages in the API Gateway, Lambda and Application Load Balancer
guides.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args
from urllib.parse import unquote, unquote_plus

EventForm = Literal["http_api", "function_url", "rest_api", "alb", "alb_multi_value"]
EVENT_FORMS: tuple[EventForm, ...] = get_args(EventForm)

Headers = list[tuple[str, str]]
Event = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """An HTTP request. `query` excludes the question mark."""

    method: str = "POST"
    path: str = "/"
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def header(self, name: str) -> str:
        """Returns the first header with the given name in lower case, or an empty string."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(frozen=True)
class Response:
    status: int
    headers: Headers
    body: bytes

    def header(self, name: str) -> str:
        """Returns the only header with the given name in lower case. Fails if the header is missing or repeated."""
        (value,) = [value for key, value in self.headers if key.lower() == name]
        return value


def event_of(form: EventForm, request: Request) -> Event:
    """Returns AWS's event for a request."""
    return _FORMS[form](request)


def response_of(response: Event) -> Response:
    """Returns AWS's response for a function's result. The result must contain a body, which may be empty."""
    headers = [(name, value) for name, values in response.get("multiValueHeaders", {}).items() for value in values]
    headers.extend(response.get("headers", {}).items())
    headers.extend(("set-cookie", cookie) for cookie in response.get("cookies", []))
    body = response["body"]
    return Response(response["statusCode"], headers, b64decode(body) if response["isBase64Encoded"] else body.encode())


# --- forms -----------------------------------------------------------------------------------------------------------
def _http_api(request: Request) -> Event:
    """Returns the event of an HTTP API. An HTTP API decodes the path."""
    decoded = replace(request, path=unquote(request.path))
    return _version_2(decoded, {"routeKey": f"{request.method} {request.path}", "apiId": "a1b2c3d4e5"})


def _function_url(request: Request) -> Event:
    return _version_2(request, {"routeKey": "$default", "authentication": None, "apiId": "urlid"})


def _version_2(request: Request, context: Event) -> Event:
    http = {"method": request.method, "path": request.path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"}
    grouped = _grouped(request.headers, str.lower)
    cookies = [cookie.strip() for value in grouped.pop("cookie", []) for cookie in value.split(";")]
    event: Event = {
        "version": "2.0",
        "routeKey": context["routeKey"],
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": {name: ",".join(values) for name, values in grouped.items()},
        "requestContext": {**context, "stage": "$default", "requestId": "JKJaXmPLvHcESHA=", "http": http},
        "isBase64Encoded": False,
    }
    if cookies:  # "Create AWS Lambda proxy integrations for HTTP APIs", API Gateway Developer Guide
        event["cookies"] = cookies
    if request.query:
        event["queryStringParameters"] = {name: ",".join(v) for name, v in _grouped(_parameters(request)).items()}
    return event | _body(request) if request.body else event


def _rest_api(request: Request) -> Event:
    parameters = [(unquote_plus(name), unquote_plus(value)) for name, value in _parameters(request)]
    return {
        "resource": "/{proxy+}",
        "path": request.path,
        "httpMethod": request.method,
        "headers": dict(request.headers) or None,
        "multiValueHeaders": _grouped(request.headers) or None,
        "queryStringParameters": dict(parameters) or None,
        "multiValueQueryStringParameters": _grouped(parameters) or None,
        "requestContext": {"stage": "Prod", "path": f"/Prod{request.path}", "httpMethod": request.method},
        "body": request.body.decode() or None,
        "isBase64Encoded": False,
    }


def _alb(request: Request) -> Event:
    headers = {name.lower(): value for name, value in request.headers}
    return _balanced(request) | {"headers": headers, "queryStringParameters": dict(_parameters(request))}


def _alb_multi_value(request: Request) -> Event:
    headers = _grouped(request.headers, str.lower)
    parameters = _grouped(_parameters(request))
    return _balanced(request) | {"multiValueHeaders": headers, "multiValueQueryStringParameters": parameters}


def _balanced(request: Request) -> Event:
    group = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/penstock/49e9d65c45c6791a"
    context = {"elb": {"targetGroupArn": group}}
    event = {"requestContext": context, "httpMethod": request.method, "path": request.path}
    return event | _body(request)


_FORMS: dict[EventForm, Callable[[Request], Event]] = {
    "http_api": _http_api,
    "function_url": _function_url,
    "rest_api": _rest_api,
    "alb": _alb,
    "alb_multi_value": _alb_multi_value,
}


# --- parts -----------------------------------------------------------------------------------------------------------
def _parameters(request: Request) -> Headers:
    """Returns the encoded names and values of the query string."""
    parts = [part.partition("=") for part in request.query.split("&") if part]
    return [(name, value) for name, _, value in parts]


def _grouped(
    pairs: list[tuple[str, str]] | tuple[tuple[str, str], ...], key: Callable[[str], str] = str
) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, value in pairs:
        groups.setdefault(key(name), []).append(value)
    return groups


_TEXT = ("text/", "application/json", "application/javascript", "application/xml")


def _body(request: Request) -> Event:
    """Returns the event's members for the body: text for the types in _TEXT, and base64 for other types.

    API Gateway and load balancers encode AWS JSON 1.0 and form bodies as base64, because _TEXT does not contain these
    types.
    """
    if not request.body or request.header("content-type").startswith(_TEXT):
        return {"body": request.body.decode(), "isBase64Encoded": False}
    return {"body": b64encode(request.body).decode(), "isBase64Encoded": True}
