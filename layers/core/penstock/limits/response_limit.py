"""Limits the length of a response. The limit depends on the entry point of the request.

    entry point                  limit                                         if one message alone is too long
    container                    4.2 MB: 4 MiB of bodies and the bytes         The response contains only the message.
                                 around them (Penstock's choice)
    HTTP API, REST API,          6 MB of the function's result: JSON that      The message stays in the queue.
    function URL, invocation     contains the body as an escaped string
    Application Load Balancer    1 MB of the same                              The message stays in the queue.

Sources: "Lambda quotas" (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html: 6 MB each for request
and response, synchronous), "Use Lambda functions as targets of an Application Load Balancer"
(https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html: 1 MB for the body of a
request, and for the JSON of a response). Penstock counts a MB as 10^6 bytes, so a response is short enough even if AWS
means 2^20 bytes.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from penstock.aws.codec.protocol import Protocol

# 4 MiB for four of the longest messages without escapes, plus the bytes around the messages.
CONTAINER_BYTES = 4_200_000
FUNCTION_BYTES = 6_000_000
LOAD_BALANCER_BYTES = 1_000_000

LONG_BODY_BYTES = 65_536
"""The server buffers this many bytes of a body. Code avoids copies of longer bodies."""

HEAD_BYTES = 2_000
"""The most bytes of a function's result outside the messages: status, headers and the outermost elements."""


MESSAGE_HEAD_BYTES = 2_000
"""The most bytes around a message's body and attributes."""


class ReceiveLimit(NamedTuple):
    """The limit for the messages of one response: `max_bytes` in a `format` of queue.response_bytes.

    `growth` is the largest factor by which escapes lengthen a text. `way` is the request's entry point in error texts.
    `way` is empty for the container, which refuses no message.
    """

    max_bytes: int
    format: str
    growth: int
    way: str = ""


class ResponseLimit(NamedTuple):
    """The limit of a Lambda function's result. `way` is the request's entry point in error texts.

    `is_ascii` means that the runtime writes the result in ASCII, with escapes for all other characters.
    """

    way: str
    max_bytes: int
    is_ascii: bool

    def count_bytes(self, value: object) -> int:
        """Returns the number of bytes that the runtime writes for a value. In ASCII the runtime also escapes U+007F."""
        text = json.dumps(value, ensure_ascii=self.is_ascii)
        return len(text) + 5 * text.count("\x7f") if self.is_ascii else len(text.encode())

    def count_fitting(self, texts: Sequence[str]) -> int:
        """Returns the number of texts, counted from the first text, that fit into one body."""
        size = HEAD_BYTES
        for count, text in enumerate(texts):
            size += self.count_bytes(text)
            if size > self.max_bytes:
                return count
        return len(texts)


_CONTAINER_LIMITS = {"json": ReceiveLimit(CONTAINER_BYTES, "json", 2), "xml": ReceiveLimit(CONTAINER_BYTES, "xml", 6)}
_FUNCTION_GROWTH = 7


@lru_cache(maxsize=16)
def build_receive_limit(limit: ResponseLimit | None, protocol: Protocol) -> ReceiveLimit:
    """Returns the limit of a receive. If `limit` is None, the container sends the response.

    A response in CBOR is shorter than in JSON, and a function's result contains it as base64.
    """
    language = "xml" if protocol is Protocol.QUERY else "json"
    if limit is None:
        return _CONTAINER_LIMITS[language]
    if protocol is Protocol.CBOR:
        return ReceiveLimit((limit.max_bytes - HEAD_BYTES) // 4 * 3, "json", 2, limit.way)
    written = "-ascii" if limit.is_ascii else ""
    return ReceiveLimit(limit.max_bytes - HEAD_BYTES, f"function-{language}{written}", _FUNCTION_GROWTH, limit.way)
