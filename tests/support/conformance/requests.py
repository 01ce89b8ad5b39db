"""Sends requests that no SDK sends, as bytes over HTTP. Writes one request in every protocol.

Also computes the MD5 of message attributes according to the Developer Guide ("Calculating the MD5 message digest for
message attributes"), without Penstock's code. The attributes are sorted by name. For each attribute the input contains
the name, the data type, one byte for the transport type (1 String and Number, 2 Binary) and the value. A length of 4
bytes (big endian) precedes the name, the data type and the value.
"""

import hashlib
import json
import struct
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import botocore.serialize
import httpx

from penstock.aws.codec import cbor
from tests.support import client_setup
from tests.support.conformance.sdk_clients import service_model
from tests.support.conformance.sqs import Sqs, read_refusal
from tests.support.functions.server import Functions, file_name
from tests.support.local_lambda.events import Request, Response, event_of, response_of


def send(http: httpx.Client, message: Any, queue: str = "orders", **others: Any) -> int:
    response = http.post(f"/v1/queues/{queue}/messages", json={"message": message, **others})
    assert response.status_code == 201, response.text
    return int(response.json()["id"])


def receive(http: httpx.Client, queue: str = "orders", **query: int) -> list[dict[str, Any]]:
    response = http.get(f"/v1/queues/{queue}/messages", params=query)
    assert response.status_code == 200, response.text
    messages: list[dict[str, Any]] = response.json()
    return messages


def error_of(response: httpx.Response) -> tuple[int, str]:
    assert set(response.json()) == {"error"}
    assert set(response.json()["error"]) <= {"code", "message", "detail", "hint"}
    return response.status_code, response.json()["error"]["code"]


FORM = "application/x-www-form-urlencoded"
MIB = 1_048_576


class Raw(NamedTuple):
    """Sends bytes to a deployment. `sqs` is an ordinary client of the same deployment."""

    sqs: Sqs
    http: httpx.Client

    def json(self, action: str, body: bytes | Mapping[str, Any], path: str = "/", **headers: str) -> httpx.Response:
        """Sends an AWS JSON request. `action` has no service prefix."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"x-amz-target": f"AmazonSQS.{action}", "content-type": "application/x-amz-json-1.0", **headers}
        return self.http.post(self.sqs.endpoint_url + path, content=content, headers=given)

    def query(self, body: bytes | Mapping[str, str], path: str = "/", **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else urlencode(body).encode()
        given = {"content-type": FORM, **headers}
        return self.http.post(self.sqs.endpoint_url + path, content=content, headers=given)

    def cbor(
        self, action: str, body: bytes | Mapping[str, Any], service: str = "AmazonSQS", prefix: str = "", **headers: str
    ) -> httpx.Response:
        """Sends a CBOR request. `headers` with underscores in place of hyphens replace the request's own headers."""
        content = body if isinstance(body, bytes) else cbor.encode(dict(body))
        given = {"smithy-protocol": "rpc-v2-cbor", "content-type": "application/cbor", "accept": "application/cbor"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        url = f"{self.sqs.endpoint_url}{prefix}/service/{service}/operation/{action}"
        return self.http.post(url, content=content, headers=given)

    def get(self, path: str, query: str, **headers: str) -> httpx.Response:
        return self.http.get(f"{self.sqs.endpoint_url}{path}?{query}", headers=headers)


def error(response: httpx.Response) -> tuple[int, str, str]:
    """Returns an error's status, Query code and fault in any protocol."""
    kind = response.headers["content-type"]
    protocol = "cbor" if kind == "application/cbor" else "json" if kind.endswith("json-1.0") else "query"
    refusal = read_refusal(protocol, response.status_code, response.headers, response.content)
    return refusal.status, refusal.code, refusal.fault


def is_lambdas_refusal(raw: Raw, response: httpx.Response) -> bool:
    """Returns whether Lambda refused a request because its event exceeds 6 MB ("Lambda quotas")."""
    return raw.sqs.deployment == "lambda" and response.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE


def refused(code: str, status: int = 400) -> tuple[int, str, str]:
    return status, code, "Sender"


def largest_batch(binary: bool) -> list[dict[str, Any]]:
    """Returns ten messages with ten attributes each. Bodies, and the attributes' names, types and values, have
    1,048,576 bytes in total.

    With `binary` the values are base64.
    """
    kind, size = ("Binary" if binary else "String"), 10_400
    value = b64encode(b"A" * size).decode() if binary else "A" * size
    attributes = {str(number): {"DataType": kind, f"{kind}Value": value} for number in range(10)}
    left = MIB - 100 * (len("0") + len(kind) + size)
    lengths = [left // 10] * 9 + [left - left // 10 * 9]
    return [{"MessageBody": "A" * length, "MessageAttributes": attributes} for length in lengths]


def md5_of_body(body: str) -> str:
    return hashlib.md5(body.encode()).hexdigest()


def md5_of_attributes(attributes: Mapping[str, Mapping[str, Any]]) -> str:
    digest = hashlib.md5()
    for name, value in sorted(attributes.items()):
        kind = value["DataType"]
        binary = kind.startswith("Binary")
        data = value["BinaryValue"] if binary else value["StringValue"].encode()
        for part in (name.encode(), kind.encode()):
            digest.update(struct.pack(">I", len(part)) + part)
        digest.update((b"\2" if binary else b"\1") + struct.pack(">I", len(data)) + data)
    return digest.hexdigest()


Members = dict[str, Any]
Write = Callable[[str, Members], Request]
Send = Callable[[str, Request], Response]

TARGETS = {"sqs": "AmazonSQS", "sns": "AmazonSNS"}
CONTENT_TYPES = {"json": "application/x-amz-json-1.0", "query": "text/xml", "query-json": "application/json"}


class RequestWriter:
    def __init__(self, service: str) -> None:
        self.service = service
        self.ways: dict[str, tuple[str, Write]] = {
            "json": ("json", self.by_json),
            "query": ("query", self.by_query),
            "query by get": ("query", self.by_get),
            "query for json": ("query-json", self.accepting_json),
        }
        if service == "sqs":
            self.ways["query on the queue"] = ("query", self.by_path)

    def by_json(self, action: str, given: Members) -> Request:
        target = f"{TARGETS[self.service]}.{action}"
        headers = (("Content-Type", "application/x-amz-json-1.0"), ("X-Amz-Target", target))
        return Request(headers=headers, body=json.dumps(given).encode())

    def by_query(self, action: str, given: Members, path: str = "/") -> Request:
        """Writes an SQS request in the form of botocore 1.31.80."""
        operation = service_model("query", self.service).operation_model(action)
        form = botocore.serialize.create_serializer("query", include_validation=False)
        written: Mapping[str, str] = form.serialize_to_request(with_bytes(given), operation)["body"]
        return Request(path=path, headers=(("Content-Type", FORM),), body=urlencode(written).encode())

    def by_get(self, action: str, given: Members) -> Request:
        return Request(method="GET", query=self.by_query(action, given).body.decode())

    def by_path(self, action: str, given: Members) -> Request:
        """Writes the request to the queue's path without QueueUrl, or to `/` if the action has no QueueUrl."""
        rest = {name: value for name, value in given.items() if name != "QueueUrl"}
        return self.by_query(action, rest, urlsplit(given.get("QueueUrl", "/")).path)

    def accepting_json(self, action: str, given: Members) -> Request:
        asked = self.by_query(action, given)
        return Request(headers=(*asked.headers, ("Accept", "application/json")), body=asked.body)

    # --- where it goes -----------------------------------------------------------------------------------------------
    def sender(self, name: str, sqs: Sqs, functions: Functions) -> Send:
        host = ("Host", "queues.internal")

        def container(_action: str, asked: Request) -> Response:
            url = f"{sqs.endpoint_url}{asked.path}" + (f"?{asked.query}" if asked.query else "")
            headers = [*asked.headers, host]
            response = client_setup.request(asked.method, url, headers=headers, content=asked.body)
            return Response(response.status_code, list(response.headers.items()), response.content)

        def function(action: str, asked: Request) -> Response:
            event = event_of(
                "http_api", Request(asked.method, asked.path, asked.query, (*asked.headers, host), asked.body)
            )
            own = f"{self.service}/{file_name(action)}"
            return response_of(functions.invoke(own if name == "its own function" else "gateway", event))

        return container if name == "container" else function


ENDPOINTS = ("container", "its own function", "the gateway function")


def with_bytes(value: Any) -> Any:
    """Replaces binary values with bytes, which the serializer encodes as base64."""
    if isinstance(value, dict):
        return {k: b"\1\2" if k == "BinaryValue" else with_bytes(v) for k, v in value.items()}
    return [with_bytes(element) for element in value] if isinstance(value, list) else value


def code_of(protocol: str, response: Response) -> str:
    """Returns an error's Query code."""
    if protocol == "json":
        return response.header("x-amzn-query-error").partition(";")[0]
    if protocol == "query-json":
        document = json.loads(response.body)
        assert document.keys() == {"Error", "RequestId"}
        assert document["Error"].keys() == {"Type", "Code", "Message"}
        return str(document["Error"]["Code"])
    return response.body.decode().partition("<Code>")[2].partition("</Code>")[0]
