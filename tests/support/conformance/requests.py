"""Writes one request in every protocol and sends it to every deployment. The module makes no assertions."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import botocore.serialize

from tests.support import plain_http
from tests.support.conformance.raw_requests import FORM
from tests.support.conformance.sdk_clients import service_model
from tests.support.conformance.sqs import Sqs
from tests.support.functions.server import Functions, file_name
from tests.support.local_lambda.events import Request, Response, event_of, response_of

Members = dict[str, Any]
Write = Callable[[str, Members], Request]
Send = Callable[[str, Request], Response]

TARGETS = {"sqs": "AmazonSQS", "sns": "AmazonSNS"}
CONTENT_TYPES = {"json": "application/x-amz-json-1.0", "query": "text/xml", "query-json": "application/json"}


class RequestWriter:
    """Writes the requests of one service, as botocore does."""

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
        """Writes an SQS request as botocore 1.31.80 does."""
        operation = service_model("query", self.service).operation_model(action)
        form = botocore.serialize.create_serializer("query", include_validation=False)
        written: Mapping[str, str] = form.serialize_to_request(_with_bytes(given), operation)["body"]
        return Request(path=path, headers=(("Content-Type", FORM),), body=urlencode(written).encode())

    def by_get(self, action: str, given: Members) -> Request:
        return Request(method="GET", query=self.by_query(action, given).body.decode())

    def by_path(self, action: str, given: Members) -> Request:
        """Writes the request for the queue's path without a QueueUrl, or for `/` if the action names no queue by its
        URL."""
        rest = {name: value for name, value in given.items() if name != "QueueUrl"}
        return self.by_query(action, rest, urlsplit(given.get("QueueUrl", "/")).path)

    def accepting_json(self, action: str, given: Members) -> Request:
        asked = self.by_query(action, given)
        return Request(headers=(*asked.headers, ("Accept", "application/json")), body=asked.body)

    # --- where it goes -----------------------------------------------------------------------------------------------
    def sender(self, name: str, sqs: Sqs, functions: Functions) -> Send:
        """Returns the sender of `name`, one of ENDPOINTS."""
        host = ("Host", "queues.internal")

        def container(_action: str, asked: Request) -> Response:
            url = f"{sqs.endpoint_url}{asked.path}" + (f"?{asked.query}" if asked.query else "")
            headers = [*asked.headers, host]
            answer = plain_http.request(asked.method, url, headers=headers, content=asked.body)
            return Response(answer.status_code, list(answer.headers.items()), answer.content)

        def function(action: str, asked: Request) -> Response:
            event = event_of(
                "http_api", Request(asked.method, asked.path, asked.query, (*asked.headers, host), asked.body)
            )
            own = f"{self.service}/{file_name(action)}"
            return response_of(functions.invoke(own if name == "its own function" else "gateway", event))

        return container if name == "container" else function


ENDPOINTS = ("container", "its own function", "the gateway function")


def _with_bytes(value: Any) -> Any:
    """Returns binary values for the serializer, which encodes bytes as base64."""
    if isinstance(value, dict):
        return {k: b"\1\2" if k == "BinaryValue" else _with_bytes(v) for k, v in value.items()}
    return [_with_bytes(element) for element in value] if isinstance(value, list) else value


def code_of(protocol: str, answer: Response) -> str:
    """Returns the Query code of an error."""
    if protocol == "json":
        return answer.header("x-amzn-query-error").partition(";")[0]
    if protocol == "query-json":
        document = json.loads(answer.body)
        assert document.keys() == {"Error", "RequestId"}
        assert document["Error"].keys() == {"Type", "Code", "Message"}
        return str(document["Error"]["Code"])
    return answer.body.decode().partition("<Code>")[2].partition("</Code>")[0]
