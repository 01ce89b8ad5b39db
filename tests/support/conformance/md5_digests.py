"""The MD5 of message attributes as the SDKs recompute it, written from the Developer Guide, not from our code.

"Calculating the MD5 message digest for message attributes": sort by name; for each: length (4 bytes, big endian) and
bytes of name, of data type, then one byte for the transport type (1 String and Number, 2 Binary), then length and
bytes of the value.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from typing import Any


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
