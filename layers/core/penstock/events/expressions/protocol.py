"""The messages between the evaluator and its process, and the limits of an evaluation.

A message is its length in four bytes, and MessagePack. The process sends READY when it has started, and then reads a
job completely before it responses, so that neither side waits for the other to read.
"""

import struct
from typing import Final

import msgspec
from msgspec import Struct

SECONDS: Final = 1.0
"""The most seconds of all expressions of an event (AWS allows an expression a second)."""
MAX_DEPTH: Final = 100
"""The most calls of functions inside each other, as on AWS."""
MAX_STRING_BYTES: Final = 10 << 20
MAX_ARRAY_ITEMS: Final = 1_000_000
MAX_RESULT_BYTES: Final = 1 << 20
"""The most bytes of a result, the size of the largest message. AWS allows 10 MiB and then refuses at the target."""
MAX_MEMORY_MB: Final = 256
"""The memory in MiB that the process may add to that of its start, our choice. In a Lambda function, at most a quarter
of the function's memory."""
READY: Final = b"ready"

_LENGTH = struct.Struct("!I")
_encoder = msgspec.msgpack.Encoder()


class Job(Struct, array_like=True):
    """Expressions, and the documents to which they apply as `$events`. Without documents, the process only compiles the
    expressions, and sends one response.

    The process stops after about `seconds` of processor time, or after results of `max_bytes` together, and sends an
    response with `ended`.
    """

    sources: list[str]
    documents: list[bytes]
    seconds: float = 0.0
    max_bytes: int = 0


class Response(Struct, array_like=True):
    """The results of a document in the order of the expressions, as JSON. None is an undefined result.

    `error` is the fault of the expression number `failed`, at the character `position`, if it has a place.
    """

    results: list[str | None] = []
    error: str | None = None
    failed: int = 0
    position: int | None = None
    ended: bool = False


def pack(message: object) -> bytes:
    body = _encoder.encode(message)
    return _LENGTH.pack(len(body)) + body


def split_frame(buffer: bytearray) -> bytes | None:
    """Removes and returns the first message of the buffer. Returns None if it is incomplete."""
    if len(buffer) < _LENGTH.size:
        return None
    end = _LENGTH.size + _LENGTH.unpack_from(buffer)[0]
    if len(buffer) < end:
        return None
    body = bytes(buffer[_LENGTH.size : end])
    del buffer[:end]
    return body
