"""Receipt handles: opaque, new on every receive, and impossible to forge.

A handle is base64url of: version, queue, shard, lease, id, receive count (27 bytes) and 18 bytes of HMAC-SHA256
over the queue's ARN and those. The receive count makes it new on every receive; the ARN makes a handle of one queue
invalid at another. 45 bytes are exactly 60 characters: there are no spare bits in which two texts could mean one
handle. The key lives in the database, so all processes and functions of an installation accept each
other's handles.
"""

import hmac
import os
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from penstock.postgres.statements import SHARED_SECRET

if TYPE_CHECKING:
    from .drivers import StatementExecutor

_PAYLOAD = Struct(">BIhqqi")
_VERSION = 1
_MAC_BYTES = 18
_LENGTH = 60
BLOCK_BYTES = 64
# base64url (RFC 4648, section 5), without the checks of the base64 module. + and / are refused in a handle: they would
# be a second text for one handle.
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_+/", b"+/\0\0")


class ReceiptHandle(NamedTuple):
    """The content of a receipt handle: the columns of `queue.delete_messages`."""

    queue_id: int
    shard: int
    pos: int
    id: int
    receive_count: int


class ReceiptHandles:
    """Makes and verifies receipt handles with one key of at most 64 bytes."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        # HMAC as RFC 2104 defines it, the two padded keys hashed once: 0.6 µs a handle instead of 1.6.
        block = key.ljust(BLOCK_BYTES, b"\0")
        self._inner = sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = sha256(bytes(byte ^ 0x5C for byte in block))

    @classmethod
    def load(cls, database: "StatementExecutor") -> "ReceiptHandles":
        """With the installation's key, which the first process makes. Raises the errors of `call`."""
        ((key,),) = database.call(SHARED_SECRET, ["receipt", os.urandom(32)])
        return cls(bytes(key))

    def seal(
        self, queue_arn: str, queue_id: int, shard: int, pos: int, message_id: int, receive_count: int
    ) -> str:
        """The handle of one delivery, 60 characters."""
        payload = _PAYLOAD.pack(_VERSION, queue_id, shard, pos, message_id, receive_count)
        sealed = b2a_base64(payload + self._mac(queue_arn, payload), newline=False)
        return sealed.translate(_TO_URL).decode("ascii")

    def open(self, queue_arn: str, handle: str) -> ReceiptHandle | None:
        """The content of a handle, or None when the text is no handle that the service made for this queue."""
        if len(handle) != _LENGTH or not handle.isascii():
            return None
        try:
            data = a2b_base64(handle.encode().translate(_FROM_URL), strict_mode=True)
        except Base64Error:
            return None
        payload, mac = data[: _PAYLOAD.size], data[_PAYLOAD.size :]
        if len(mac) != _MAC_BYTES or not hmac.compare_digest(mac, self._mac(queue_arn, payload)):
            return None
        version, *parts = _PAYLOAD.unpack(payload)
        return ReceiptHandle(*parts) if version == _VERSION else None

    def _mac(self, queue_arn: str, payload: bytes) -> bytes:
        inner = self._inner.copy()
        inner.update(queue_arn.encode() + b"\0" + payload)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.digest()[:_MAC_BYTES]
