"""Generates requests that two servers might split at different places. Each request contains or precedes another
request, the prize.

    refused   The server responds with one error and closes the connection.
    last      The server responds once and closes the connection.
    whole     The server responds once. The prize is a part of the body.
    twins     The server responds to the request and to the prize, as a control.

RFC 9112 and, where it is named, RFC 9110 define the right behaviour. If the RFCs let a server repair or refuse a
request, Penstock's server refuses the request ("may refuse").
"""

from collections.abc import Iterator
from typing import NamedTuple

FORM_HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
REST_HEAD = b"POST /v1/queues/none/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
# Requests in AWS's protocols use the fast path, and the REST API's requests use ASGI.
HEADS = {"aws": FORM_HEAD, "rest": REST_HEAD}
PRIZE_QUEUE = "prize"
PRIZE = b"GET /?Action=CreateQueue&QueueName=%b HTTP/1.1\r\nHost: localhost\r\n\r\n" % PRIZE_QUEUE.encode()


class SmugglingCase(NamedTuple):
    """`rest` is the rest of a request after its first three lines, or the whole request with `whole`."""

    name: str
    rule: str
    rest: bytes
    whole: bool = False

    def data(self, head: bytes) -> bytes:
        return self.rest if self.whole else head + self.rest


def refused() -> Iterator[SmugglingCase]:
    yield from lengths()
    yield from codings()
    yield from chunks()
    yield from fields()
    yield from request_lines()


# --- Content-Length --------------------------------------------------------------------------------------------------
def lengths() -> Iterator[SmugglingCase]:
    """Yields invalid lengths. Content-Length consists of digits (RFC 9110, 8.6). An invalid value is an unrecoverable
    error (RFC 9112, 6.3).
    """
    for value in (
        b"+3", b"-3", b"0x3", b"3.0", b"3 3", b"3;3", b"3a", b"a3", b"3_0", b"_3", b"1e1", b"0b11", b"0o3", b"3-3",
        b"(3)", b'"3"', b"\xd9\xa3", b"\xc2\xb3", b"3\x0b", b"3\x0c", b"3\x00", b"\x003", b"18446744073709551619",
        b"99999999999999999999", b"-1", b"+0", b"-0", b"0x0", b"NaN", b"chunked", b"3, 4", b"4, 3", b"3,+3",
    ):  # fmt: skip
        yield SmugglingCase(f"a length of {value!r}", "6.3", b"Content-Length: %b\r\n\r\nabc" % value)
    for first, second in ((b"3", b"4"), (b"0", b"3"), (b"3", b"0"), (b"3", b"x"), (b"x", b"3")):
        lines = b"Content-Length: %b\r\nContent-Length: %b\r\n\r\nabc" % (first, second)
        yield SmugglingCase(f"lengths of {first!r} and {second!r}", "6.3", lines)
    yield SmugglingCase(
        "the same length twice", "6.3, may refuse", b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"
    )
    yield SmugglingCase(
        "a length in capitals after another", "6.3", b"content-length: 0\r\nCONTENT-LENGTH: 3\r\n\r\nabc"
    )
    for name in (
        b"Content-Length ", b"Content-Length\t", b"Content-Length\x0b", b"Content-Length\x00", b"Content\x00-Length",
        b"Content Length", b"(Content-Length)", b"Content-Length\xc2\xa0",
    ):  # fmt: skip
        yield SmugglingCase(f"the name {name!r}", "5.1", name + b": 3\r\n\r\nabc")


# --- Transfer-Encoding -----------------------------------------------------------------------------------------------
def codings() -> Iterator[SmugglingCase]:
    """Yields unknown codings (RFC 9112, 7). Also yields codings together with a length, codings that do not end with
    chunked, and the coding chunked twice (RFC 9112, 6.1 and 6.3).
    """
    end = b"\r\n\r\n0\r\n\r\n"
    for what, framing in {
        "a length and chunks": b"Content-Length: 3\r\nTransfer-Encoding: chunked",
        "chunks and a length": b"Transfer-Encoding: chunked\r\nContent-Length: 3",
        "a length of 0 and chunks": b"Content-Length: 0\r\nTransfer-Encoding: chunked",
        "chunks and a length of 0": b"Transfer-Encoding: chunked\r\nContent-Length: 0",
        "chunks in capitals and a length": b"TRANSFER-ENCODING: CHUNKED\r\nContent-Length: 3",
        "chunks after a tab and a length": b"Transfer-Encoding:\tchunked\r\nContent-Length: 3",
        "an unknown coding and a length": b"Transfer-Encoding: x\r\nContent-Length: 3",
        "identity and a length": b"Transfer-Encoding: identity\r\nContent-Length: 3",
        "no coding and a length": b"Transfer-Encoding:\r\nContent-Length: 3",
        "a length, another header, chunks": b"Content-Length: 3\r\nA: b\r\nTransfer-Encoding: chunked",
    }.items():  # fmt: skip
        yield SmugglingCase(what, "6.1, may refuse", framing + end)
    for value in (
        b"xchunked", b"chunkedx", b"chunked, gzip", b"chunked, identity", b"gzip", b"identity", b"cow", b"x",
        b"'chunked'", b'"chunked"', b"chunked\x00", b"\x00chunked", b"\x0bchunked", b"chunked\x0b", b"chunked;",
        b"chunked; q=1", b"chun ked", b"chunked gzip", b"chunked chunked", b"chunked\xc2\xa0", b"\xef\xbb\xbfchunked",
        b"ch\xc3\xbcnked", b"chunk", b"[chunked]",
    ):  # fmt: skip
        yield SmugglingCase(f"the coding {value!r}", "6.3", b"Transfer-Encoding: %b" % value + end)
    for first, second in (
        (b"chunked", b"identity"), (b"chunked", b"chunked"), (b"chunked", b"x"), (b"chunked", b"gzip"), (b"x", b"y"),
        (b"identity", b"identity"), (b"chunked", b""),
    ):  # fmt: skip
        lines = b"Transfer-Encoding: %b\r\nTransfer-Encoding: %b" % (first, second)
        yield SmugglingCase(f"the codings {first!r} and {second!r}", "6.3", lines + end)
    yield SmugglingCase("chunked twice in one header", "6.1", b"Transfer-Encoding: chunked, chunked" + end)
    for name in (b"Transfer-Encoding ", b"Transfer-Encoding\t", b"Transfer-Encoding\x00", b"Transfer\x00-Encoding",
                 b"Transfer Encoding", b" Transfer-Encoding", b"\tTransfer-Encoding"):  # fmt: skip
        yield SmugglingCase(f"the name {name!r}", "5.1", name + b": chunked" + end)
    for blank in (b"\r\n ", b"\r\n\t", b"\n ", b"\r "):
        yield SmugglingCase(
            f"chunked after {blank!r}", "5.2, may refuse", b"Transfer-Encoding:" + blank + b"chunked" + end
        )
        yield SmugglingCase(
            f"chunked around {blank!r}", "5.2, may refuse", b"Transfer-Encoding: chu" + blank + b"nked" + end
        )
    for ending in (b"\r", b"\n", b"\x00", b"\r\r\n", b"\n\r"):
        hidden = b"A: b" + ending + b"Transfer-Encoding: chunked" + end
        yield SmugglingCase(f"chunked hidden behind {ending!r}", "2.2, may refuse", hidden)


# --- chunks ----------------------------------------------------------------------------------------------------------
def chunks() -> Iterator[SmugglingCase]:
    """Yields invalid chunks. A valid chunk is a size in hexadecimal digits, CRLF, data of that size, and CRLF (RFC
    9112, 7.1). Also yields trailers that contain framing fields (RFC 9110, 6.5.1).
    """
    head = b"Transfer-Encoding: chunked\r\n\r\n"
    end = b"\r\nabc\r\n0\r\n\r\n"
    for size in (
        b"+3", b"-3", b"0x3", b"3x", b"g", b"", b";", b";a=b", b"3,3", b"3.0", b"3_", b"_3", b"\xd9\xa3", b"3\x00",
        b"\x003", b"3 3", b"3\x0b", b'"3"', b"fffffffffffffffff", b"10000000000000003", b"80000000000000003", b"-0",
        b"+0", b"0x0", b"\\3", b"3\\", b"3:", b"3=",
    ):  # fmt: skip
        yield SmugglingCase(f"a chunk of {size!r} bytes", "7.1", head + size + end)
    for extension in (b";a\nb", b";a\rb", b";\n", b";a=\x00", b";a\x00", b"\n", b"\r", b';a="b\nc"', b';a="b\r\nc"'):
        yield SmugglingCase(f"a chunk with {extension!r}", "7.1.1", head + b"3" + extension + end)
    for name, body in {
        "longer than its size": b"3\r\nabcd\r\n0\r\n\r\n", "much longer than its size": b"1\r\nabcdef\r\n0\r\n\r\n",
        "without its end": b"3\r\nabc0\r\n\r\n", "ended by LF": b"3\r\nabc\n0\r\n\r\n",
        "ended by CR": b"3\r\nabc\r0\r\n\r\n", "ended by two": b"3\r\nabc\r\n\r\n0\r\n\r\n",
        "after LF": b"3\nabc\r\n0\r\n\r\n", "after CR": b"3\rabc\r\n0\r\n\r\n",
        "before a chunk of -1": b"3\r\nabc\r\n-1\r\n\r\n", "before no size": b"3\r\nabc\r\n\r\n\r\n",
        "before LF alone": b"3\r\nabc\r\n0\n\n", "before another's size": b"3\r\nabc\r\n3g\r\nabc\r\n0\r\n\r\n",
    }.items():  # fmt: skip
        yield SmugglingCase(f"a chunk {name}", "7.1", head + body)
    for name, trailer in {
        "that is a length": b"Content-Length: 0", "that is a coding": b"Transfer-Encoding: x", "without a colon": b"a",
        "without a name": b": b", "with a blank before the colon": b"a : b", "folded": b"a: b\r\n c",
        "with NUL": b"a: b\x00c", "with a name of two words": b"a b: c", "ended by LF": b"a: b\nc: d",
        "ended by CR": b"a: b\rc: d",
    }.items():  # fmt: skip
        yield SmugglingCase(f"a trailer {name}", "7.1.2", head + b"3\r\nabc\r\n0\r\n" + trailer + b"\r\n\r\n")


# --- fields ----------------------------------------------------------------------------------------------------------
def fields() -> Iterator[SmugglingCase]:
    end = b"\r\nContent-Length: 3\r\n\r\nabc"
    for line in (
        b"A: b\r\n c", b"A: b\r\n\tc", b"A: b\r\n c: d", b" A: b", b"\tA: b", b"A : b", b"A\t: b", b": b", b":", b"A",
        b"A b", b"A b: c", b"A\x00: b", b"A: \x00", b"A: b\x00c", b"\x00A: b", b"A\x7f: b", b"(A): b", b"A[]: b",
        b"A{}: b", b"A@b: c", b"A\\b: c", b'A"b": c', b"A,B: c", b"A;B: c", b"A/B: c", b"A=B: c", b"A<B: c",
        b"\xc3\x84: b", b"A\xff: b", b"A: b\rC: d", b"A: b\nC: d", b"A: b\r\r\nC: d", b"A: b\n\r\nC: d", b"A: \r",
        b"Host: other", b"host: localhost", b"HOST:",
    ):  # fmt: skip
        yield SmugglingCase(f"the line {line!r}", "5", line + end)
    for name, whole in {
        "no Host": b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        "a blank before Host": b"POST / HTTP/1.1\r\n Host: localhost\r\nContent-Length: 3\r\n\r\nabc",
        "lines ended by LF": b"POST / HTTP/1.1\nHost: localhost\nContent-Length: 3\n\nabc",
        "lines ended by CR": b"POST / HTTP/1.1\rHost: localhost\rContent-Length: 3\r\rabc\r\n\r\n",
        "the head ended by LF": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\nabc",
    }.items():  # fmt: skip
        yield SmugglingCase(name, "2.2, 3.2", whole, whole=True)


# --- request lines ---------------------------------------------------------------------------------------------------
def request_lines() -> Iterator[SmugglingCase]:
    """Yields invalid request lines (RFC 9112, 2.2, 2.3 and 3). A server may accept several spaces between the parts of
    the line.
    """
    end = b"\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
    for line in (
        b"GET /", b"POST /", b"POST\t/ HTTP/1.1", b"POST / HTTP/1.1 ", b"POST / HTTP/1.1 x", b"POST / http/1.1",
        b"POST / HTTP/1", b"POST / HTTP/11", b"POST / HTTP/1.10", b"POST / HTTP/01.1", b"POST / HTTP/0.9",
        b"POST / HTTP/2.0", b"POST / HTTP/3", b"POST / HTTP/-1.1", b"POST / XTTP/1.1", b"POST / HTTP /1.1",
        b"POST / HTTP/1,1", b"POST / /x HTTP/1.1", b"POST /\x00 HTTP/1.1", b"POST /\x0b HTTP/1.1",
        b"POST /\xff HTTP/1.1", b"POST /\x7f HTTP/1.1", b"POST x HTTP/1.1", b"POST \\ HTTP/1.1",
        b"POST localhost/ HTTP/1.1", b"post / HTTP/1.1", b"P\x00ST / HTTP/1.1", b"POST\x00 / HTTP/1.1",
        b"\x00POST / HTTP/1.1", b" POST / HTTP/1.1", b"\tPOST / HTTP/1.1", b"FOO / HTTP/1.1", b"POST,GET / HTTP/1.1",
        b"/ HTTP/1.1", b"HTTP/1.1 200 OK", b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2", b"CONNECT localhost:1 HTTP/1.1",
        b"PRI * HTTP/2.0", b"POST / HTTP/1.1\r", b"POST / HTTP/1.1\r\r", b"POST / HTTP/1.1\nA: b",
        b"POST /\r\n HTTP/1.1", b"\xef\xbb\xbfPOST / HTTP/1.1", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-x", b"\r\n\x00",
    ):  # fmt: skip
        yield SmugglingCase(f"the line {line!r}", "3", line + end, whole=True)


# --- answered once ---------------------------------------------------------------------------------------------------
def last() -> Iterator[SmugglingCase]:
    """Yields requests after which the server must close the connection (RFC 9112, 9.3 and 9.6)."""
    for value in (b"close", b"Close", b"close, x", b"x, close", b"keep-alive, close"):
        lines = b"Connection: %b\r\nContent-Length: 3\r\n\r\nabc" % value
        yield SmugglingCase(f"Connection: {value.decode()}", "9.6", lines)
    old = b"POST / HTTP/1.0\r\nHost: localhost\r\n"
    for name, rest in {
        "HTTP/1.0": b"Content-Length: 3\r\n\r\nabc", "HTTP/1.0 without a length": b"\r\n",
        "HTTP/1.0 in chunks": b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 that wants to go on": b"Connection: keep-alive\r\nContent-Length: 3\r\n\r\nabc",
    }.items():  # fmt: skip
        yield SmugglingCase(name, "6.1, 9.3", old + rest, whole=True)


def whole() -> Iterator[SmugglingCase]:
    """Yields requests whose body contains the prize (RFC 9112, 6)."""
    size, size_in_chunks = b"Content-Length: %d\r\n" % len(PRIZE), b"%x\r\n" % len(PRIZE)
    body = size + b"\r\n" + PRIZE
    chunk = size_in_chunks + PRIZE + b"\r\n0\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n\r\n"
    get = b"GET /?Action=None HTTP/1.1\r\nHost: localhost\r\n"
    for name, source, rest in (
        ("a body", "6.2", body),
        ("a body after the header Upgrade", "RFC 9110, 7.8", b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + body),
        (
            "chunks after the header Upgrade",
            "RFC 9110, 7.8",
            b"Connection: Upgrade\r\nUpgrade: websocket\r\n" + chunked + chunk + b"\r\n",
        ),
        ("a body that was announced", "RFC 9110, 10.1.1", b"Expect: 100-continue\r\n" + body),
        ("a body and a header like Transfer-Encoding", "6.2", b"Transfer_Encoding: chunked\r\n" + body),
        ("a body and a header that ends so", "6.2", b"X-Transfer-Encoding: chunked\r\n" + body),
        ("a body and another length elsewhere", "6.2", b"X-Content-Length: 0\r\nContent_Length: 0\r\n" + body),
        (
            "a body that begins with an end of chunks",
            "6.2",
            b"Content-Length: %d\r\n\r\n0\r\n\r\n" % (len(PRIZE) + 5) + PRIZE,
        ),
        (
            "a body with a length with zeros before",
            "RFC 9110, 8.6",
            b"Content-Length: 000%d\r\n\r\n" % len(PRIZE) + PRIZE,
        ),
        ("a chunk", "7.1", chunked + chunk + b"\r\n"),
        (
            "a chunk with an extension",
            "7.1.1",
            chunked + size_in_chunks.strip() + b";a=b\r\n" + PRIZE + b"\r\n0\r\n\r\n",
        ),
        ("chunks of a byte", "7.1", chunked + b"".join(b"1\r\n%c\r\n" % byte for byte in PRIZE) + b"0\r\n\r\n"),
        ("a chunk with trailers", "7.1.2", chunked + chunk + b"Host: other\r\nContent-Type: x\r\n\r\n"),
        ("a chunk, and a size with zeros before", "7.1", chunked + b"000" + chunk + b"\r\n"),
        ("an end of many zeros", "7.1", chunked + size_in_chunks + PRIZE + b"\r\n00000\r\n\r\n"),
    ):
        yield SmugglingCase(name, source, rest)
    yield SmugglingCase("a body of a GET", "RFC 9110, 9.3.1", get + body, whole=True)
    yield SmugglingCase("chunks of a GET", "RFC 9110, 9.3.1", get + chunked + chunk + b"\r\n", whole=True)


def twins() -> Iterator[SmugglingCase]:
    """Yields valid requests before the prize."""
    body, chunked = b"Content-Length: 3\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n"
    yield SmugglingCase("a body", "9.3.2", body)
    yield SmugglingCase("no body", "9.3.2", b"Content-Length: 0\r\n\r\n")
    yield SmugglingCase("chunks", "9.3.2", chunked + b"3\r\nabc\r\n0\r\n\r\n")
    yield SmugglingCase("chunks in capitals", "7", b"TRANSFER-ENCODING: CHUNKED\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    yield SmugglingCase("an extension and trailers", "7.1", chunked + b"3;a=b;c\r\nabc\r\n0;d\r\nE: f\r\n\r\n")
    yield SmugglingCase("blanks around a length", "5.1", b"Content-Length: \t3 \r\n\r\nabc")
    yield SmugglingCase("a connection that goes on", "9.3", b"Connection: keep-alive\r\n" + body)
    yield SmugglingCase(
        "an Upgrade that is ignored", "RFC 9110, 7.8", b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + body
    )
    yield SmugglingCase("empty lines before", "2.2", b"\r\n\r\n" + FORM_HEAD + body, whole=True)
