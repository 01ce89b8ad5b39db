"""Checks the reader and the writer of CBOR, with RFC 8949's examples (appendix A) and hostile bodies."""

from __future__ import annotations

import math
import struct
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.aws.codec.cbor import MAX_DEPTH, MAX_VALUES, decode, encode
from penstock.aws.codec.schema import Timestamp
from penstock.errors import SerializationException

# RFC 8949, appendix A, as far as the protocol has the types.
EXAMPLES: dict[str, Any] = {
    "00": 0, "17": 23, "1818": 24, "1864": 100, "1903e8": 1000, "1a000f4240": 1000000,
    "1b000000e8d4a51000": 1000000000000, "1bffffffffffffffff": 2**64 - 1, "3bffffffffffffffff": -(2**64),
    "20": -1, "29": -10, "3863": -100, "3903e7": -1000, "f90000": 0.0, "f93c00": 1.0, "f93e00": 1.5, "f97bff": 65504.0,
    "fa47c35000": 100000.0, "fa7f7fffff": 3.4028234663852886e38, "fb3ff199999999999a": 1.1, "f9c400": -4.0,
    "fbc010666666666666": -4.1, "f97c00": math.inf, "f9fc00": -math.inf, "fb7ff0000000000000": math.inf,
    "f4": False, "f5": True, "f6": None, "f7": None, "c11a514b67b0": Timestamp(1363896240),
    "c1fb41d452d9ec200000": Timestamp(1363896240.5), "40": b"", "4401020304": b"\1\2\3\4", "60": "", "6161": "a",
    "6449455446": "IETF", "62225c": '"\\', "62c3bc": "ü", "63e6b0b4": "水", "64f0908591": "𐅑", "80": [],
    "83010203": [1, 2, 3], "8301820203820405": [1, [2, 3], [4, 5]], "a0": {},
    "a26161016162820203": {"a": 1, "b": [2, 3]},
    "826161a161626163": ["a", {"b": "c"}], "5f42010243030405ff": b"\1\2\3\4\5",
    "7f657374726561646d696e67ff": "streaming",
    "9fff": [], "9f018202039f0405ffff": [1, [2, 3], [4, 5]], "83018202039f0405ff": [1, [2, 3], [4, 5]],
    "bf61610161629f0203ffff": {"a": 1, "b": [2, 3]}, "826161bf61626163ff": ["a", {"b": "c"}],
    "bf6346756ef563416d7421ff": {"Fun": True, "Amt": -2}, "5fff": b"", "7fff": "", "bfff": {},
    # Longer forms than necessary are valid (RFC 8949, 4.1).
    "1800": 0, "1b0000000000000001": 1, "780161": "a", "9a0000000101": [1], "b90001616101": {"a": 1},
    "d80101": Timestamp(1),
}  # fmt: skip

REFUSED = {
    "": "ends too early", "18": "ends too early", "1901": "ends too early", "61": "ends too early",
    "62c3": "ends too early", "5801": "ends too early", "81": "ends too early", "a16161": "ends too early",
    "9f01": "ends too early", "bf6161": "ends too early", "5f4101": "ends too early", "fb3ff1": "ends too early",
    "c1": "ends too early", "7bffffffffffffffff": "ends too early", "5bffffffffffffffff00": "ends too early",
    "9a00002710": "ends too early", "0000": "bytes after", "a000": "bytes after", "f6ff": "bytes after",
    "9bffffffffffffffff": "more than 25000", "bbffffffffffffffff": "more than 25000", "9a000061a9": "more than 25000",
    "61ff": "not UTF-8", "62c328": "not UTF-8", "63eda080": "not UTF-8", "7f61c361bcff": "not UTF-8",
    "a10101": "a key that is not a text", "a1f601": "a key that is not a text", "a1416101": "a key that is not a text",
    "a18001": "a key that is not a text", "bf0101ff": "a key that is not a text",
    "a1c10101": "a key that is not a text",
    "a2616101616102": "the key a twice", "bf616101616102ff": "the key a twice", "a261610178016102": "the key a twice",
    "c000": "the tag 0", "c24101": "the tag 2", "c48200": "the tag 4", "d81c80": "the tag 28", "d81d00": "the tag 29",
    "d9010280": "the tag 258", "d9d9f7a0": "the tag 55799", "dbffffffffffffffff00": "the tag 18446744073709551615",
    "a16178c24101": "the tag 2",
    "c16161": "not a number", "c1f6": "not a number", "c1f5": "not a number", "c1c101": "not a number",
    "1c": "invalid length", "1f": "invalid length", "3f": "invalid length", "5c": "invalid length",
    "df00": "invalid length",
    "e0": "unknown type", "f0": "unknown type", "f8ff": "unknown type", "f820": "unknown type", "fc": "unknown type",
    "ff": "unknown type", "81ff": "unknown type", "a1ff01": "unknown type", "bf6161ff": "unknown type",
    "5f6161ff": "invalid part", "7f4161ff": "invalid part", "5f5f4101ffff": "invalid part", "7f7fffff": "invalid part",
    "5f00ff": "invalid part", "81" * 65: "more than 64 levels", "9f" * 65: "more than 64 levels",
    "a16161" * 65: "more than 64 levels", "c1" * 65: "more than 64 levels",
}  # fmt: skip


@pytest.mark.parametrize(("body", "value"), EXAMPLES.items())
def test_a_valid_body(body: str, value: Any) -> None:
    read = decode(bytes.fromhex(body))
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(("body", "reason"), REFUSED.items(), ids=lambda text: text[:24])
def test_a_refused_body(body: str, reason: str) -> None:
    with pytest.raises(SerializationException, match=reason):
        decode(bytes.fromhex(body))


def test_not_a_number() -> None:
    number = decode(bytes.fromhex("f97e00"))
    assert isinstance(number, float)
    assert math.isnan(number)


def test_the_limits_themselves_are_allowed() -> None:
    assert decode(b"\x81" * (MAX_DEPTH - 1) + b"\x80")
    assert decode(b"\x99" + MAX_VALUES.to_bytes(2, "big") + bytes(MAX_VALUES)) == [0] * MAX_VALUES
    assert decode(b"\x9f" + bytes(MAX_VALUES) + b"\xff") == [0] * MAX_VALUES


MIB = 1_048_576
LARGE = {
    "zeros in a list": b"\x9a\x00\x60\x00\x00" + bytes(6 * MIB),
    "zeros without an end": b"\x9f" + bytes(6 * MIB),
    "lists in a list": b"\x9a\x00\x60\x00\x00" + b"\x80" * 6 * MIB,
    "maps in lists": b"\x9f\xa0" * 3 * MIB,
    "lists in lists": b"\x81" * 6 * MIB,
    "maps without ends": b"\xbf\x61a" * 2 * MIB,
    "members": b"\xbf" + b"".join(b"\x62%02x\xf6" % (number % 256) for number in range(MIB)),
    "parts of a blob": b"\x5f" + b"\x40" * 6 * MIB,
    "parts of a text": b"\x7f" + b"\x61a" * 3 * MIB,
    "tags": b"\xc1" * 6 * MIB,
    "declared lengths": b"\x9a\xff\xff\xff\xff" * MIB,
    "declared blobs": b"\x9f" + b"\x5a\xff\xff\xff\xff" * MIB,
    "unknown tags": b"\x9f" + b"\xc2\x41\x01" * 2 * MIB,
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_hostile_body_uses_little_memory(name: str) -> None:
    """The most memory that values of a body take is 25,000 values and the body itself."""
    body = LARGE[name]
    tracemalloc.start()
    try:
        with pytest.raises(SerializationException):
            decode(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(body) + 4 * MIB


# --- generated bodies ------------------------------------------------------------------------------------------------
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
WRITTEN = st.one_of(
    st.booleans(), st.integers(-(2**64), 2**64 - 1), st.floats(allow_nan=False), st.binary(max_size=300), TEXTS,
    st.floats(-1e12, 1e12).map(Timestamp), st.integers(-(2**53), 2**53).map(Timestamp),
)  # fmt: skip


def nest(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def build(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(st.lists(inner, max_size=5), st.dictionaries(TEXTS, inner, max_size=5))

    return st.recursive(scalars, build, max_leaves=10)


VALUES = nest(WRITTEN)


@given(VALUES)
def test_the_reader_reads_what_the_writer_writes(value: Any) -> None:
    assert decode(encode(value)) == value


def in_endless_form(value: Any) -> bytes:
    """Returns CBOR whose lists and maps have indefinite lengths, as the SDK for Java writes them."""
    if isinstance(value, dict):
        return b"\xbf" + b"".join(encode(name) + in_endless_form(member) for name, member in value.items()) + b"\xff"
    if isinstance(value, list):
        return b"\x9f" + b"".join(map(in_endless_form, value)) + b"\xff"
    return encode(value)


ENTRY_TEXTS = st.one_of(TEXTS, st.just("same"), st.binary(max_size=300))
ENTRIES: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries({"Data": st.binary(max_size=300), "More": st.fixed_dictionaries({"Type": ENTRY_TEXTS})}),
    st.fixed_dictionaries({"Data": ENTRY_TEXTS, "More": st.fixed_dictionaries({"Type": ENTRY_TEXTS, "Group": TEXTS})}),
    st.fixed_dictionaries({"Data": st.integers(0, 300), "More": st.one_of(TEXTS, st.just({}))}),
)  # fmt: skip


@given(st.lists(ENTRIES, min_size=3, max_size=9), st.sampled_from([encode, in_endless_form]))
@settings(max_examples=60)
def test_lists_of_similar_maps_are_read(entries: list[Any], write: Callable[[Any], bytes]) -> None:
    assert decode(write({"Entries": entries})) == {"Entries": entries}


@given(st.lists(ENTRIES, min_size=3, max_size=4), st.data())
@settings(max_examples=60)
def test_a_damaged_list_of_similar_maps_is_read_like_single_maps(entries: list[Any], data: st.DataObject) -> None:
    """The last map of three or four is damaged. Alone, it has the same value or the same error."""
    last = bytearray(encode(entries[-1]))
    last[data.draw(st.integers(0, len(last) - 1))] = data.draw(st.integers(0, 255))
    last = last[: data.draw(st.integers(1, len(last)))]
    before = b"".join(map(encode, entries[:-1]))
    alone, together = read_damaged(b"\x81" + last), read_damaged(bytes([0x80 + len(entries)]) + before + last)
    assert together == (alone if isinstance(alone, str) else [*map(repr, entries[:-1]), *alone])


def read_damaged(body: bytes) -> list[str] | str:
    """Returns the values of a list as text, or the text of the error."""
    try:
        return [*map(repr, cast("list[object]", decode(body)))]
    except SerializationException as error:
        return str(error)


def test_maps_of_a_list_have_separate_values() -> None:
    read: Any = decode(encode([{"a": {"b": str(n)}} for n in range(4)]))
    assert [entry["a"]["b"] for entry in read] == list("0123")


@pytest.mark.parametrize("size", [24, 255, 256, 300])
def test_long_texts_of_similar_maps(size: int) -> None:
    maps = [{"a%": chr(0x41 + n) * size, "b": "%s"} for n in range(25)]
    assert decode(encode(maps)) == maps


@given(
    st.lists(st.fixed_dictionaries({"Id": st.text("abü%", max_size=2), "Code": st.just("c")}), min_size=20, max_size=25)
)
@settings(max_examples=30)
def test_long_lists_of_similar_maps_are_written(entries: list[Any]) -> None:
    assert decode(encode(entries)) == entries
    assert encode(entries).endswith(b"".join(map(encode, entries)))


def test_the_writer_omits_absent_members() -> None:
    assert decode(encode({"a": None, "b": {"c": None, "d": 1}})) == {"b": {"d": 1}}


class FreeWriter:
    """Writes values in any valid form: with longer lengths than necessary, and with indefinite lengths."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def write(self, value: Any) -> bytes:
        kinds: dict[type, Callable[[Any], bytes]] = {
            type(None): self.nothing, bool: self.boolean, Timestamp: self.time, float: self.number,
            int: self.integer, bytes: self.blob, str: self.text, list: self.list, dict: self.map,
        }  # fmt: skip
        return kinds[type(value)](value)

    def nothing(self, _: None) -> bytes:
        return self.data.draw(st.sampled_from([b"\xf6", b"\xf7"]))

    def boolean(self, value: bool) -> bytes:
        return b"\xf5" if value else b"\xf4"

    def number(self, value: float) -> bytes:
        return b"\xfb" + struct.pack(">d", value)

    def time(self, value: Timestamp) -> bytes:
        return self.head(6, 1) + self.number(value)

    def integer(self, value: int) -> bytes:
        return self.head(0, value) if value >= 0 else self.head(1, -1 - value)

    def blob(self, value: bytes) -> bytes:
        at = self.data.draw(st.integers(0, len(value)))
        return self.string(2, value, value[:at], value[at:])

    def text(self, value: str) -> bytes:
        at = self.data.draw(st.integers(0, len(value)))
        return self.string(3, value.encode(), value[:at].encode(), value[at:].encode())

    def string(self, major: int, whole: bytes, *parts: bytes) -> bytes:
        if self.data.draw(st.booleans()):
            return self.head(major, len(whole)) + whole
        return bytes((major << 5 | 31,)) + b"".join(self.head(major, len(part)) + part for part in parts) + b"\xff"

    def list(self, value: Sequence[Any]) -> bytes:
        return self.collection(4, len(value), b"".join(map(self.write, value)))

    def map(self, value: Mapping[str, Any]) -> bytes:
        return self.collection(5, len(value), b"".join(self.write(part) for pair in value.items() for part in pair))

    def collection(self, major: int, length: int, content: bytes) -> bytes:
        if self.data.draw(st.booleans()):
            return self.head(major, length) + content
        return bytes((major << 5 | 31,)) + content + b"\xff"

    def head(self, major: int, argument: int) -> bytes:
        forms = [bytes((major << 5 | argument,))] if argument < 24 else []
        forms += [
            bytes((major << 5 | info,)) + argument.to_bytes(size, "big")
            for info, size in ((24, 1), (25, 2), (26, 4), (27, 8))
            if argument < 256**size
        ]
        return self.data.draw(st.sampled_from(forms))


@given(nest(st.none() | WRITTEN), st.data())
def test_the_reader_reads_every_form(value: Any, data: st.DataObject) -> None:
    assert decode(FreeWriter(data).write(value)) == value


@given(VALUES, st.data())
@settings(max_examples=150)
def test_a_damaged_body_is_read_or_refused(value: Any, data: st.DataObject) -> None:
    body = bytearray(encode(value))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body)))
        body[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    read_or_refuse(bytes(body))


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_random_bytes_are_read_or_refused(body: bytes) -> None:
    read_or_refuse(body)


def read_or_refuse(body: bytes) -> None:
    """Fails for any other exception than SerializationException."""
    with suppress(SerializationException):
        decode(body)


@given(VALUES, st.data())
def test_a_shortened_body_is_refused(value: Any, data: st.DataObject) -> None:
    body = encode(value)
    with pytest.raises(SerializationException):
        decode(body[: data.draw(st.integers(0, len(body) - 1))])
