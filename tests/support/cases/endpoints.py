"""Sends requests to the service's endpoints as bytes: AWS JSON, Query and REST-JSON, in the container and on Lambda.

A member may have any type, because botocore does not validate these requests. Access control is off, so the service
reads only the caller from a signature.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from tests.support.cases.case import Members
from tests.support.conformance.sdk_clients import REGION, service_model

ACCOUNT = "710000000001"
FORM = "application/x-www-form-urlencoded"
TARGETS = {"sqs": "AmazonSQS", "sns": "AmazonSNS"}

Parameters = list[tuple[str, str]]


class Received(NamedTuple):
    status: int
    code: str
    text: str
    body: bytes


class Endpoint:
    """Calls one deployment in one protocol: json, query or rest."""

    def __init__(self, deployment: str, protocol: str, endpoint_url: str) -> None:
        self.name = f"{deployment} {protocol}"
        self.protocol = protocol
        self._host = urlsplit(endpoint_url).netloc
        self._connection = HTTPConnection(self._host, timeout=60)

    def close(self) -> None:
        self._connection.close()

    def call(
        self,
        service: str,
        action: str,
        members: Members,
        form: tuple[tuple[str, str], ...] = (),
        *,
        signed: bool = True,
    ) -> Received:
        """Returns the response to a request. `form` lists additional parameters of a Query request."""
        method, path, headers, body = _written(self.protocol, service, action, members, form)
        if signed:
            scope = f"{ACCOUNT}/20250101/{REGION}/{service}/aws4_request"
            headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        return _read(self.protocol, response.status, dict(response.getheaders()), response.read())


Written = tuple[str, str, dict[str, str], bytes]


def _written(protocol: str, service: str, action: str, members: Members, form: tuple[tuple[str, str], ...]) -> Written:
    if protocol == "json":
        target = f"{TARGETS[service]}.{action}"
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": target}
        return "POST", "/", headers, json.dumps(members).encode()
    if protocol == "query":
        version = {"sqs": "2012-11-05", "sns": "2010-03-31"}[service]
        model = service_model("query", service).operation_model(action)
        given = list(_parameters(model.input_shape, members, "")) if model.input_shape else []
        pairs = [("Action", action), ("Version", version), *given, *form]
        return "POST", "/", {"Content-Type": FORM}, urlencode(pairs).encode()
    return _rest(service_model("rest-json", service).operation_model(action), members)


def _parameters(shape: Any, value: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """Yields a value's parameters in the notation of the Query protocol: `Tags.member.1.Key`."""
    if value is None:
        return
    if not isinstance(value, dict | list) or shape is None:
        yield prefix, str(value).lower() if isinstance(value, bool) else str(value)
    else:
        yield from _WRITERS[shape.type_name](shape, value, prefix)


def _structure(shape: Any, value: Members, prefix: str) -> Iterator[tuple[str, str]]:
    for name, element in value.items():
        member = shape.members.get(name)
        if member is None and isinstance(element, list):  # The Query model lacks newer members.
            yield from ((f"{prefix}{name.removesuffix('s')}.{n}", str(item)) for n, item in enumerate(element, 1))
            continue
        written = name if member is None else member.serialization.get("name", name)
        if member is not None and member.serialization.get("flattened"):
            written = _flat_name(member, name)
        yield from _parameters(member, element, f"{prefix}.{written}" if prefix else written)


def _list(shape: Any, value: list[Any], prefix: str) -> Iterator[tuple[str, str]]:
    item = shape.member.serialization.get("name", "member")
    inner = prefix if shape.serialization.get("flattened") else f"{prefix}.{item}"
    if not value:
        yield prefix, ""
    for number, element in enumerate(value, 1):
        yield from _parameters(shape.member, element, f"{inner}.{number}")


def _map(shape: Any, value: Members, prefix: str) -> Iterator[tuple[str, str]]:
    inner = prefix if shape.serialization.get("flattened") else f"{prefix}.entry"
    key, content = shape.key.serialization.get("name", "key"), shape.value.serialization.get("name", "value")
    for number, (name, element) in enumerate(value.items(), 1):
        yield f"{inner}.{number}.{key}", name
        yield from _parameters(shape.value, element, f"{inner}.{number}.{content}")


_WRITERS: dict[str, Callable[[Any, Any, str], Iterator[tuple[str, str]]]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
}


def _flat_name(shape: Any, name: str) -> str:
    if shape.type_name == "list":
        return str(shape.member.serialization.get("name", name))
    return str(shape.serialization.get("name", name))


def _rest(model: Any, members: Members) -> Written:
    path, query = str(model.http["requestUri"]), list[tuple[str, str]]()
    body: Members = {}
    for name, value in members.items():
        member = model.input_shape.members.get(name)
        where = member.serialization.get("location") if member is not None else None
        if name.startswith("?"):  # a query parameter that the model does not have
            query.append((name[1:], str(value)))
        elif where == "uri":
            path = path.replace("{" + name + "}", quote(str(value), safe=""))
        elif where == "querystring":
            query += [
                (member.serialization["name"], str(element))
                for element in (value if isinstance(value, list) else [value])
            ]
        else:
            body[name] = value
    headers = {"Content-Type": "application/json"}
    has_body = any("location" not in member.serialization for member in model.input_shape.members.values())
    return (
        model.http["method"],
        path + (f"?{urlencode(query)}" if query else ""),
        headers,
        json.dumps(body).encode() if has_body else b"",
    )


def _read(protocol: str, status: int, headers: Mapping[str, str], body: bytes) -> Received:
    lower = {name.lower(): value for name, value in headers.items()}
    if status == 200:
        return Received(status, "", "", body)
    if protocol == "rest":
        return Received(status, lower.get("x-amzn-errortype", ""), json.loads(body)["Message"], body)
    if protocol == "json":
        code = lower.get("x-amzn-query-error", "").partition(";")[0]
        return Received(status, code, json.loads(body)["message"], body)
    text = body.decode()
    found = {tag: re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("Code", "Message")}
    code, message = (unescape(match[1]) if match else "" for match in (found["Code"], found["Message"]))
    return Received(status, code, message, body)
