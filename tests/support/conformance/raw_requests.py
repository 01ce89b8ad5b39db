"""Sends requests that SDKs do not make, as bytes over HTTP, and reads the answers.

The module computes the MD5 of message attributes as the SDKs do, from the Developer Guide and not from our code.

"Calculating the MD5 message digest for message attributes": sort by name; for each: length (4 bytes, big endian) and
bytes of name, of data type, then one byte for the transport type (1 String and Number, 2 Binary), then length and bytes
of the value.
"""

import hashlib
import json
import struct
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx

from tests.support.conformance.sqs import Sqs, read_refusal

FORM = "application/x-www-form-urlencoded"
MIB = 1_048_576


class Raw(NamedTuple):
    """A deployment for bytes. `sqs` is an ordinary client of the same deployment."""

    sqs: Sqs
    http: httpx.Client

    def json(
        self, action: str, body: bytes | Mapping[str, Any], path: str = "/", **headers: str
    ) -> httpx.Response:
        """Sends an AWS JSON request. `action` has no service prefix."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {
            "x-amz-target": f"AmazonSQS.{action}",
            "content-type": "application/x-amz-json-1.0",
            **headers,
        }
        return self.http.post(self.sqs.endpoint_url + path, content=content, headers=given)

    def query(self, body: bytes | Mapping[str, str], path: str = "/", **headers: str) -> httpx.Response:
        """Sends a Query request by POST."""
        content = body if isinstance(body, bytes) else urlencode(body).encode()
        given = {"content-type": FORM, **headers}
        return self.http.post(self.sqs.endpoint_url + path, content=content, headers=given)

    def get(self, path: str, query: str, **headers: str) -> httpx.Response:
        return self.http.get(f"{self.sqs.endpoint_url}{path}?{query}", headers=headers)


def error(response: httpx.Response) -> tuple[int, str, str]:
    """Returns status, Query code and fault of an answer in any protocol."""
    protocol = "json" if response.headers["content-type"].endswith("json-1.0") else "query"
    refusal = read_refusal(protocol, response.status_code, response.headers, response.content)
    return refusal.status, refusal.code, refusal.fault


def is_lambdas_refusal(raw: Raw, answer: httpx.Response) -> bool:
    """Says whether Lambda itself refused a request because its event would exceed 6 MB ("Lambda quotas")."""
    return raw.sqs.deployment == "lambda" and answer.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE


def refused(code: str, status: int = 400) -> tuple[int, str, str]:
    return status, code, "Sender"


def largest_batch(binary: bool) -> list[dict[str, Any]]:
    """Returns ten messages with ten attributes each, 1,048,576 bytes in all: bodies, and names, types and values of
    attributes.

    Bodies and values are letters A. With `binary` the values are base64.
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
