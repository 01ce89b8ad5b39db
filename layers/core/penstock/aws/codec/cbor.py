"""Reads and writes CBOR (RFC 8949), as far as the protocol rpc-v2-cbor uses CBOR.

Smithy's types become dict with texts as keys, list, str, bytes, int, float, bool and Timestamp (tag 1). Null and
undefined become None. The reader accepts definite and indefinite lengths, and the writer writes definite lengths
in the shortest form. Source: "Smithy RPC v2 CBOR protocol".

The reader refuses everything else: other tags and simple values, keys that are no texts, duplicate keys, texts that are
not UTF-8, more than 64 levels, more than 25,000 values, and bytes after the value. It allocates no memory for a length
that a body only declares. Reading a value takes about 0.5 µs, so any body is read within 15 ms.
"""

import struct
from functools import lru_cache

from penstock.errors import SerializationException

from .schema import Timestamp

MAX_DEPTH = 64
# PutRawEvents with 100 events, each with 100 entries of Metadata, has 21,000 names and values.
MAX_VALUES = 25_000

_INDEFINITE = 31
_BREAK = 0xFF
_LENGTHS = {24: 1, 25: 2, 26: 4, 27: 8}  # the bytes after the first byte, by its lower five bits
_FLOATS = {25: struct.Struct(">e"), 26: struct.Struct(">f"), 27: struct.Struct(">d")}
_SIMPLE = {20: False, 21: True, 22: None, 23: None}
_EXACT_FLOATS = 2**53  # a float below this bound has the value of its integer
_SHORT_TEXT, _LONG_TEXT = 0x60, 0x78  # texts of up to 23 bytes, which names and most values are


# --- reading ---------------------------------------------------------------------------------------------------------
def decode(body: bytes) -> object:
    """Returns the value in a body. Raises SerializationException with the reason for refusing a body."""
    reader = _Reader(body)
    try:
        value = reader.read(0)
    except (IndexError, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError) and reader.position <= len(body):
            raise SerializationException("A text in the CBOR body is not UTF-8.") from None
        raise SerializationException(_ENDS_EARLY) from None
    if reader.position > len(body):
        raise SerializationException(_ENDS_EARLY)
    if reader.position < len(body):
        raise SerializationException("The CBOR body has bytes after its value.")
    return value


_ENDS_EARLY = "The CBOR body ends too early."


class _Reader:
    """Reads one body. A slice beyond the body's end is short, and `decode` then finds a position beyond the end."""

    __slots__ = ("_body", "_left", "position")

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._left = MAX_VALUES
        self.position = 0

    def read(self, depth: int) -> object:
        """Reads one value that is inside `depth` lists and maps."""
        first = self._body[self.position]
        self.position += 1
        if _SHORT_TEXT <= first < _LONG_TEXT:
            return self._take(first - _SHORT_TEXT).decode()
        return _READERS[first >> 5](self, first & 31, depth)

    def _take(self, length: int) -> bytes:
        start = self.position
        self.position = end = start + length
        return self._body[start:end]

    def _count(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise SerializationException(f"The CBOR body has more than {MAX_VALUES} names and values.")

    def _read_argument(self, info: int) -> int:
        if info < 24:
            return info
        if info not in _LENGTHS:
            raise SerializationException("The CBOR body has an invalid length.")
        return int.from_bytes(self._take(_LENGTHS[info]), "big")

    def _at_break(self) -> bool:
        """Returns whether a collection or a string of indefinite length ends here. Otherwise counts its next value."""
        if self._body[self.position] == _BREAK:
            self.position += 1
            return True
        self._count(1)
        return False

    # --- values by major type ----------------------------------------------------------------------------------------
    def read_unsigned(self, info: int, _: int) -> int:
        return self._read_argument(info)

    def read_negative(self, info: int, _: int) -> int:
        return -1 - self._read_argument(info)

    def read_blob(self, info: int, _: int) -> bytes:
        return self._take(self._read_argument(info)) if info != _INDEFINITE else self._read_parts(2)

    def read_text(self, info: int, _: int) -> str:
        return (self._take(self._read_argument(info)) if info != _INDEFINITE else self._read_parts(3)).decode()

    def _read_parts(self, major: int) -> bytes:
        """Reads a string of indefinite length, which consists of strings of the same type with definite lengths."""
        chunks = []
        while not self._at_break():
            first = self._take(1)[0]
            if first >> 5 != major or first & 31 == _INDEFINITE:
                raise SerializationException("A string in the CBOR body has an invalid part.")
            chunks.append(self._take(self._read_argument(first & 31)))
            if major == 3:
                chunks[-1].decode()  # a part must not end inside a character (RFC 8949, 3.2.3)
        return b"".join(chunks)

    def read_list(self, info: int, depth: int) -> list[object]:
        depth = _descend(depth)
        read = self.read
        if info == _INDEFINITE:
            values = []
            while not self._at_break():
                values.append(read(depth))
            return values
        length = self._read_argument(info)
        self._count(length)
        return [read(depth) for _ in range(length)]

    def read_map(self, info: int, depth: int) -> dict[str, object]:
        depth = _descend(depth)
        read = self.read
        members: dict[str, object] = {}
        if info == _INDEFINITE:
            while not self._at_break():
                self._count(1)
                name = read(depth)
                members[_check_name(name, members)] = read(depth)
            return members
        length = info if info < 24 else self._read_argument(info)
        self._count(2 * length)
        for _ in range(length):
            name = read(depth)
            if type(name) is not str or name in members:
                _check_name(name, members)
            members[name] = read(depth)  # type: ignore[index]  # a text
        return members

    def read_tagged(self, info: int, depth: int) -> Timestamp:
        tag = self._read_argument(info)
        if tag != 1:
            raise SerializationException(f"The CBOR body has the tag {tag}. The protocol has only tag 1, for times.")
        seconds = self.read(_descend(depth))
        if type(seconds) is int or type(seconds) is float:
            return Timestamp(seconds)
        raise SerializationException("A time in the CBOR body is not a number.")

    def read_simple(self, info: int, _: int) -> float | bool | None:
        if info in _SIMPLE:
            return _SIMPLE[info]
        number = _FLOATS.get(info)
        if number is None:
            raise SerializationException("The CBOR body has a value of an unknown type.")
        data = self._take(number.size)
        if len(data) < number.size:
            raise IndexError
        return float(number.unpack(data)[0])


_READERS = (
    _Reader.read_unsigned, _Reader.read_negative, _Reader.read_blob, _Reader.read_text, _Reader.read_list,
    _Reader.read_map, _Reader.read_tagged, _Reader.read_simple,
)  # fmt: skip


def _check_name(name: object, members: dict[str, object]) -> str:
    """Returns a name that a map does not have yet."""
    if type(name) is not str:
        raise SerializationException("A map in the CBOR body has a key that is not a text.")
    if name in members:
        raise SerializationException(f"A map in the CBOR body has the key {name[:256]} twice.")
    return name


def _descend(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise SerializationException(f"The CBOR body has more than {MAX_DEPTH} levels.")
    return depth + 1


# --- writing ---------------------------------------------------------------------------------------------------------
def encode(value: object) -> bytes:
    """Returns the body for a value. Omits members that are None."""
    parts: list[bytes] = []
    _write(value, parts)
    return b"".join(parts)


def _write(value: object, parts: list[bytes]) -> None:
    if type(value) is str:
        data = value.encode()
        parts += (_TEXT_HEADS[len(data)] if len(data) < 256 else _head(3, len(data)), data)
    elif type(value) is dict:
        members = [(name, member) for name, member in value.items() if member is not None]
        parts.append(_head(5, len(members)))
        for name, member in members:
            parts.append(_write_name(name) if len(name) < 64 else encode(name))
            _write(member, parts)
    elif type(value) is list:
        parts.append(_head(4, len(value)))
        for entry in value:
            _write(entry, parts)
    elif type(value) is bytes:
        parts += (_head(2, len(value)), value)
    else:
        parts.append(_write_scalar(value))


def _write_scalar(value: object) -> bytes:
    if type(value) is bool:
        return b"\xf5" if value else b"\xf4"
    if type(value) is int:
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if type(value) is Timestamp:
        is_exact = value.is_integer() and abs(value) < _EXACT_FLOATS
        return b"\xc1" + _write_scalar(int(value) if is_exact else float(value))
    if type(value) is float:
        return b"\xfb" + _FLOATS[27].pack(value)
    raise TypeError(f"CBOR has no type for {type(value)}")


@lru_cache(maxsize=1024)
def _write_name(name: str) -> bytes:
    return encode(name)


def _head(major: int, argument: int) -> bytes:
    """Returns the first bytes of a value: its major type, and its length or number in the shortest form."""
    if argument < 24:
        return _SHORT_HEADS[major][argument]
    info = 24 if argument < 1 << 8 else 25 if argument < 1 << 16 else 26 if argument < 1 << 32 else 27
    return bytes((major << 5 | info,)) + argument.to_bytes(_LENGTHS[info], "big")


_SHORT_HEADS = [[bytes((major << 5 | argument,)) for argument in range(24)] for major in range(6)]
_TEXT_HEADS = [_head(3, length) for length in range(256)]
