"""Creates and verifies receipt handles, which are opaque, new on every receive, and impossible to forge.

A handle is the base64url text of 66 bytes. The first 47 bytes are fields: version, queue, shard, lease, id, receive
count, the lease's nonce, and message id. The other 19 bytes are HMAC-SHA256 over the queue's ARN and the fields. The
receive count makes the handle new on every receive. The ARN makes the handle invalid for another queue. After a
failover or a restore, a message can have the id of an earlier message. The nonce and message id make the earlier
message's handle invalid for the later message. The text has exactly 88 characters without spare bits, so two texts
never mean the same handle. The HMAC key is in the database, so all processes and functions of an installation accept
each other's handles.
"""

import hmac
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from hashlib import sha256
from struct import Struct

from penstock.aws.named_queue import NamedQueue
from penstock.postgres.statements.messages import HandleFields, ReceiptHandle

_PAYLOAD = Struct(">BIhqqii16s")
_VERSION = 1
_MAC_BYTES = 19
_LENGTH = 88
BLOCK_BYTES = 64
# base64url (RFC 4648, section 5), without the checks of the base64 module. A handle with + or / is refused, because the
# same handle would then have two texts.
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_+/", b"+/\0\0")


class ReceiptHandles:
    """Creates and verifies receipt handles with one key of at most 64 bytes."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        # HMAC as defined in RFC 2104. The class hashes the two padded keys once, which saves 1.0 of 1.6 µs per handle.
        block = key.ljust(BLOCK_BYTES, b"\0")
        self._inner = sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = sha256(bytes(byte ^ 0x5C for byte in block))

    def seal(self, queue: NamedQueue, handle: HandleFields) -> str:
        """Returns the text of a handle, which has 88 characters."""
        payload = _PAYLOAD.pack(_VERSION, *handle)
        sealed = b2a_base64(payload + self._mac(queue, payload)[:_MAC_BYTES], newline=False)
        return sealed.translate(_TO_URL).decode("ascii")

    def open(self, queue: NamedQueue, handle: str) -> ReceiptHandle | None:
        """Returns the fields of a handle, or None if the service did not create the text for the queue."""
        if len(handle) != _LENGTH or not handle.isascii():
            return None
        try:
            data = a2b_base64(handle.encode().translate(_FROM_URL), strict_mode=True)
        except Base64Error:
            return None
        payload, mac = data[: _PAYLOAD.size], data[_PAYLOAD.size :]
        if len(mac) != _MAC_BYTES or not hmac.compare_digest(mac, self._mac(queue, payload)[:_MAC_BYTES]):
            return None
        fields = _PAYLOAD.unpack(payload)
        if fields[0] != _VERSION:
            return None
        return tuple.__new__(ReceiptHandle, fields[1:])  # three times as fast as ReceiptHandle(*…)

    def _mac(self, queue: NamedQueue, payload: bytes) -> bytes:
        inner = self._inner.copy()
        inner.update(queue.arn.encode() + b"\0" + payload)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.digest()
