"""Reads and writes the part of CBOR (RFC 8949) that the protocol rpc-v2-cbor uses.

The reader converts Smithy's types to dict with str keys, list, str, bytes, int, float, bool and Timestamp (tag 1). It
converts null and undefined to None. The reader accepts definite and indefinite lengths. The writer writes definite
lengths in the shortest form. Source: "Smithy RPC v2 CBOR protocol".

The reader refuses other tags and simple values, keys that are not texts, duplicate keys, texts that are not UTF-8, more
than 64 levels, more than 25,000 values, and bytes after the value. A length in the body allocates no memory before the
reader has found that many bytes. The reader takes about 0.5 µs for a value, and therefore at most 15 ms for a body.
"""

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, cast

from penstock.errors import SerializationException

from .schema import Timestamp

MAX_DEPTH = 64
# PutRawEvents with 100 events, each with 100 entries of Metadata, has 21,000 names and values.
MAX_VALUES = 25_000

_INDEFINITE = 31
_BREAK = 0xFF
_LENGTHS = {24: 1, 25: 2, 26: 4, 27: 8}  # the bytes of the length or number, by the lower five bits of the first byte
_FLOATS = {25: struct.Struct(">e"), 26: struct.Struct(">f"), 27: struct.Struct(">d")}
_SIMPLE = {20: False, 21: True, 22: None, 23: None}
_EXACT_FLOATS = 2**53  # below this bound, a float represents every integer exactly
_ENDLESS = MAX_VALUES + 1
_MAX_VARIABLES = 20
_MANY = 20
_BLOB, _MAP, _ENDLESS_MAP = 0x40, 0xA0, 0xBF
_SHORT_TEXT, _LONG_TEXT = 0x60, 0x78  # the first bytes of texts of 0 to 23 bytes; names and most values are so short


# --- reading ---------------------------------------------------------------------------------------------------------
def decode(body: bytes) -> object:
    """Returns the value in a body. Raises SerializationException for a body that the reader refuses."""
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
    """Reads one body. After a read beyond the end of the body, `position` is greater than the length of the body."""

    __slots__ = ("_body", "_left", "position")

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._left = MAX_VALUES
        self.position = 0

    def read(self, depth: int) -> object:
        """Reads one value, which `depth` lists and maps contain."""
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
        """Returns whether a list, map or string of indefinite length ends here. If not, counts its next value."""
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
        """Reads a text or blob of indefinite length, whose parts are texts or blobs of definite lengths."""
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
        is_endless = info == _INDEFINITE
        length = _ENDLESS if is_endless else self._read_argument(info)
        if not is_endless:
            self._count(length)
        values: list[object] = []
        pattern: _Pattern | None = None
        while len(values) < length and not (is_endless and self._at_break()):
            start = self.position
            values.append(self.read(depth))
            if len(values) == 2:
                pattern = _find_pattern(self._body, start, values)
            if pattern is not None:
                most = min(length - len(values), self._left // (pattern.values + is_endless))
                found, self.position = pattern.read(self._body, self.position, most)
                self._count((pattern.values + is_endless) * len(found))
                values += found
        return values

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
    """Returns the name. Raises SerializationException if it is not a text, or if the map already contains it."""
    if type(name) is not str:
        raise SerializationException("A map in the CBOR body has a key that is not a text.")
    if name in members:
        raise SerializationException(f"A map in the CBOR body has the key {name[:256]} twice.")
    return name


def _descend(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise SerializationException(f"The CBOR body has more than {MAX_DEPTH} levels.")
    return depth + 1


# --- similar maps of a list ------------------------------------------------------------------------------------------
class _OtherPatternError(Exception):
    """The map has no pattern, or has a different pattern."""


class _Variable(NamedTuple):
    """A text or blob that differs between the maps of a pattern.

    `before` contains the bytes between the preceding variable and this one. `base` is the first byte of an empty value
    of its type. `name` is the name of the member. `outer` is the name of the inner map that contains the member, or
    None for a member of the outermost map.
    """

    before: bytes
    base: int
    convert: Callable[[bytes], object]
    outer: str | None
    name: str


class _Pattern(NamedTuple):
    """The bytes that two maps have in common. SDKs write all entries of a batch in the same form. The reader compares
    the common bytes, because that is faster than decoding them.

    `model` is a decoded map of the pattern. `end` contains the bytes after the last variable. `values` is the number of
    names and values in a map. All decoded maps share the inner maps that contain no variable.
    """

    model: dict[str, object]
    variables: list[_Variable]
    end: bytes
    values: int

    def read(self, body: bytes, position: int, most: int) -> tuple[list[object], int]:
        """Reads up to `most` maps. Returns the maps and the position after them. Stops before a map that does not have
        this pattern."""
        found: list[object] = []
        try:
            while len(found) < most:
                members, at = self.model.copy(), position
                for before, base, convert, outer, name in self.variables:
                    if not body.startswith(before, at):
                        return found, position
                    start, at = _find_bounds(body, at + len(before), base)
                    value = convert(body[start:at])
                    if outer is None:
                        members[name] = value
                    else:
                        members[outer] = {**cast("dict[str, object]", members[outer]), name: value}
                if not body.startswith(self.end, at):
                    break
                found.append(members)
                position = at + len(self.end)
        except (_OtherPatternError, IndexError, UnicodeDecodeError):
            pass  # the general reader then reads this map, and raises the error if the map is invalid
        return found, position


def _find_bounds(body: bytes, position: int, base: int) -> tuple[int, int]:
    """Returns the position of the first byte of a text or blob, and the position after its last byte."""
    length = body[position] - base
    if length == 24:
        return position + 2, position + 2 + body[position + 1]
    if 0 <= length < 24:
        return position + 1, position + 1 + length
    if length == 25:
        return position + 3, position + 3 + (body[position + 1] << 8 | body[position + 2])
    raise _OtherPatternError


class _PatternFinder:
    """Finds the pattern that two maps have in common. `position` is where the model begins in the body."""

    __slots__ = ("_body", "_count", "_position", "_rest", "_variables")

    def __init__(self, body: bytes, position: int) -> None:
        self._body = body
        self._position = self._rest = position  # the bytes from _rest to _position belong to no variable
        self._count = 0
        self._variables: list[_Variable] = []

    def find(self, model: dict[str, object], other: dict[str, object]) -> _Pattern:
        """Returns the pattern of the model and another map. Raises _OtherPatternError."""
        self._pass_map(model, other, None)
        if not 0 < len(self._variables) <= _MAX_VARIABLES:
            raise _OtherPatternError
        return _Pattern(model, self._variables, self._body[self._rest : self._position], self._count)

    def _pass_map(self, model: dict[str, object], other: dict[str, object], outer: str | None) -> None:
        first = self._body[self._position]
        if first != _ENDLESS_MAP and not _MAP <= first < _MAP + 24:
            raise _OtherPatternError
        self._position += 1
        self._count += 2 * len(model)
        for name, member in model.items():
            _, self._position = _find_bounds(self._body, self._position, _SHORT_TEXT)
            others = other.get(name)
            if type(member) is bytes:
                self._pass_text(_Variable(b"", _BLOB, bytes, outer, name), differs=True)
            elif type(member) is str:
                self._pass_text(_Variable(b"", _SHORT_TEXT, bytes.decode, outer, name), differs=member != others)
            elif type(member) is dict and type(others) is dict and outer is None:
                self._pass_map(member, others, name)
            else:
                raise _OtherPatternError
        self._position += first == _ENDLESS_MAP

    def _pass_text(self, variable: _Variable, *, differs: bool) -> None:
        start = self._position
        _, self._position = _find_bounds(self._body, start, variable.base)
        if differs:
            self._variables.append(variable._replace(before=self._body[self._rest : start]))
            self._rest = self._position


def _find_pattern(body: bytes, position: int, values: Sequence[object]) -> _Pattern | None:
    """Returns the pattern of two values, or None if they have no pattern. The second value is at `position`."""
    other, model = values
    if type(model) is not dict or type(other) is not dict:
        return None
    try:
        return _PatternFinder(body, position).find(model, other)
    except _OtherPatternError:
        return None


# --- writing ---------------------------------------------------------------------------------------------------------
def encode(value: object) -> bytes:
    """Encodes a value. Omits members that are None."""
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
        similar = _write_similar(value) if len(value) >= _MANY else b""
        if similar:
            parts.append(similar)
        else:
            for entry in value:
                _write(entry, parts)
    elif type(value) is bytes:
        parts += (_head(2, len(value)), value)
    else:
        parts.append(_write_scalar(value))


def _write_similar(values: list[object]) -> bytes:
    """Encodes maps that have the same names, and ASCII texts of the same lengths as values. Returns an empty result for
    other values. The results of PutRawEvents with a hundred events are such maps."""
    maps = [value for value in values if type(value) is dict]
    names = list(maps[0]) if maps else []
    if len(maps) < len(values) or [*map(list, maps)].count(names) < len(maps) or not 0 < len(names) < 24:
        return b""
    form = _head(5, len(names))
    columns = [*zip(*map(dict.values, maps), strict=True)]
    for name, column in zip(names, columns, strict=True):
        if {*map(type, column)} != {str} or len({*map(len, column)}) > 1 or not "".join(column).isascii():
            return b""
        if len(column[0]) > 255 or len(name) > 63:
            return b""
        form += _write_name(name).replace(b"%", b"%%") + _TEXT_HEADS[len(column[0])].replace(b"%", b"%%") + b"%s"
    texts = form.decode("latin-1") * len(maps) % (*chain.from_iterable(zip(*columns, strict=True)),)
    return texts.encode("latin-1")


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
    """Encodes the start of a value: the major type, and the length or number in the shortest form."""
    if argument < 24:
        return _SHORT_HEADS[major][argument]
    info = 24 if argument < 1 << 8 else 25 if argument < 1 << 16 else 26 if argument < 1 << 32 else 27
    return bytes((major << 5 | info,)) + argument.to_bytes(_LENGTHS[info], "big")


_SHORT_HEADS = [[bytes((major << 5 | argument,)) for argument in range(24)] for major in range(6)]
_TEXT_HEADS = [_head(3, length) for length in range(256)]
