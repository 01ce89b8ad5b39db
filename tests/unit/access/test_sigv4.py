"""Compares Signature Version 4 with botocore's signer: the signed requests are valid, and the altered requests are
invalid."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from penstock.access.sigv4 import MAX_EXPIRES_SECONDS, derive_signing_key, parse, parse_query_pairs, verify
from penstock.errors import (
    AwsError,
    IncompleteSignature,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    SignatureDoesNotMatch,
)
from penstock.http import HttpRequest

KEY_ID, SECRET = "PSTKAAAAAAAAAAAAAAAA", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
HOST = "queues.example:9324"
CREDENTIALS = Credentials(KEY_ID, SECRET)
JSON_HEADERS = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.SendMessage"}


def request_of(signed: AWSRequest, method: str) -> HttpRequest:
    """Returns the parts of a prepared botocore request that a server reads."""
    address = urlsplit(signed.url)
    headers = {name.lower().encode(): str(value).encode() for name, value in signed.headers.items()}
    headers.setdefault(b"host", HOST.encode())
    body = signed.body or b""
    return HttpRequest(
        method, address.path, address.query.encode(), headers, body if isinstance(body, bytes) else body.encode()
    )


def by_header(
    method: str = "POST",
    path: str = "/",
    query: str = "",
    body: bytes = b'{"QueueUrl":"q"}',
    headers: Mapping[str, str] = JSON_HEADERS,
    credentials: Credentials = CREDENTIALS,
) -> HttpRequest:
    """Returns a request with a current signature in the Authorization header."""
    url = f"http://{HOST}{path}" + (f"?{query}" if query else "")
    unsigned = AWSRequest(method, url, headers=dict(headers), data=body)
    SigV4Auth(credentials, "sqs", "eu-west-1").add_auth(unsigned)
    return request_of(unsigned, method)


def presigned(
    path: str = "/000000000000/q",
    parameters: Mapping[str, str] | None = None,
    expires: int = 60,
    credentials: Credentials = CREDENTIALS,
) -> HttpRequest:
    """Returns a request with a current signature in the query string."""
    given = parameters or {"Action": "SendMessage", "MessageBody": "a b+c&ü"}
    query = "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in given.items())
    unsigned = AWSRequest("GET", f"http://{HOST}{path}?{query}")
    SigV4QueryAuth(credentials, "sqs", "eu-west-1", expires=expires).add_auth(unsigned)
    return request_of(unsigned, "GET")


def at(seconds: float = 0) -> float:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).timestamp()


def check(request: HttpRequest, seconds: float = 0, secret: str = SECRET, now: float | None = None) -> None:
    """Verifies the request, `seconds` from now or at the time `now`. Raises an error if the signature is invalid."""
    signed = parse(request)
    # The signature does not cover the key id, because the id selects the secret.
    if signed.access_key_id != KEY_ID:
        raise InvalidClientTokenId
    verify(request, signed, secret, at(seconds) if now is None else now)


def with_headers(request: HttpRequest, **changes: str | None) -> HttpRequest:
    """Returns the request with other headers. Names have underscores instead of hyphens, and the value None removes a
    header."""
    headers = dict(request.headers)
    for name, value in changes.items():
        key = name.replace("_", "-").encode()
        headers.pop(key, None)
        if value is not None:
            headers[key] = value.encode()
    return replace(request, headers=headers)


# --- what botocore signs is good -------------------------------------------------------------------------------------
segments = st.text("abcXYZ019-_.~ ü%+@:=", min_size=1, max_size=12).filter(lambda text: text not in {".", ".."})
texts = st.text(max_size=20).filter(lambda text: text.isprintable())
names = st.from_regex(r"[A-Za-z][A-Za-z0-9.]{0,15}", fullmatch=True)


@settings(max_examples=150)
@given(st.lists(segments, max_size=3), st.dictionaries(names, texts, max_size=4), st.binary(max_size=60))
def test_a_header_that_botocore_signed_is_accepted(path: list[str], parameters: dict[str, str], body: bytes) -> None:
    """The server receives a decoded path, but a raw query string."""
    query = "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in parameters.items())
    whole = "/" + "/".join(path)
    signed = by_header(path=quote(whole, safe="/~"), query=query, body=body)
    check(replace(signed, path=whole))


@settings(max_examples=150)
@given(st.dictionaries(names, texts, min_size=1, max_size=4))
def test_a_url_that_botocore_presigned_is_accepted(parameters: dict[str, str]) -> None:
    check(presigned(parameters=parameters))


def test_spaces_in_headers_are_trimmed_and_folded() -> None:
    check(by_header(headers={**JSON_HEADERS, "X-Amz-Meta": "  a   b  "}))


def test_repeated_headers_are_signed_as_a_list() -> None:
    unsigned = AWSRequest("POST", f"http://{HOST}/", headers={"X-Amz-Target": "T"}, data=b"")
    unsigned.headers["my-header"] = "one"
    unsigned.headers["my-header"] = "two"
    SigV4Auth(CREDENTIALS, "sqs", "eu-west-1").add_auth(unsigned)
    check(with_headers(request_of(unsigned, "POST"), my_header="one,two"))


def test_a_date_header_will_do() -> None:
    """The signed text covers both date headers."""
    signed = by_header()
    assert "x-amz-date" in signed.headers[b"authorization"].decode()
    moved = with_headers(signed, date=signed.headers[b"x-amz-date"].decode(), x_amz_date=None)
    with pytest.raises(SignatureDoesNotMatch):  # The request must contain all signed headers.
        check(moved)


def test_the_signing_key_of_the_documentation() -> None:
    """IAM User Guide, "Examples of how to derive a signing key for Signature Version 4"."""
    key = derive_signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1", "iam")
    assert key.hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"


# --- the clock -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seconds", [-890, 0, 890])
def test_fifteen_minutes_either_way_are_fine(seconds: float) -> None:
    check(by_header(), seconds)


@pytest.mark.parametrize(("seconds", "said"), [(-910, "not yet current"), (910, "expired")])
def test_beyond_fifteen_minutes_a_header_is_refused(seconds: float, said: str) -> None:
    with pytest.raises(SignatureDoesNotMatch, match=said):
        check(by_header(), seconds)


def test_an_address_is_good_until_it_expires() -> None:
    signed = presigned(expires=3600)
    check(signed, 3590)
    with pytest.raises(SignatureDoesNotMatch, match="expired"):
        check(signed, 3610)
    with pytest.raises(SignatureDoesNotMatch, match="not yet current"):
        check(signed, -910)


@pytest.mark.parametrize("expires", [0, MAX_EXPIRES_SECONDS + 1])
def test_an_address_lives_at_most_a_week(expires: int) -> None:
    check(presigned(expires=MAX_EXPIRES_SECONDS))
    with pytest.raises(IncompleteSignature, match="X-Amz-Expires"):
        check(presigned(expires=expires))


# --- what is refused -------------------------------------------------------------------------------------------------
def test_no_signature_at_all() -> None:
    with pytest.raises(MissingAuthenticationToken):
        parse(HttpRequest("POST", "/", b"Action=ListQueues", {b"host": b"h"}, b""))


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer x",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 Credential=a/20250101/r/sqs/aws4_request, SignedHeaders=host",
        "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host, Signature=" + "0" * 64,
        "AWS4-HMAC-SHA256 Credential=a/20250101/r/sqs/aws4_request, SignedHeaders=host, Signature=zz",
        "AWS4-ECDSA-P256-SHA256 Credential=a/20250101/r/sqs/aws4_request, SignedHeaders=host, Signature=00",
    ],
)
def test_a_signature_that_is_not_whole(header: str) -> None:
    with pytest.raises(IncompleteSignature) as refusal:
        parse(with_headers(by_header(), authorization=header))
    assert refusal.value.status == 400


def test_credentials_in_both_places() -> None:
    both = replace(by_header(), query=presigned().query)
    with pytest.raises(IncompleteSignature):
        parse(both)


@pytest.mark.parametrize("name", ["authorization", "x-amz-date", "x-amz-content-sha256", "host"])
def test_a_repeated_security_header(name: str) -> None:
    """The server joins the values of repeated headers."""
    signed = by_header(headers={**JSON_HEADERS, "X-Amz-Content-Sha256": "0" * 64})
    signed = by_header() if name != "x-amz-content-sha256" else signed
    value = signed.headers[name.encode()].decode()
    with pytest.raises((IncompleteSignature, SignatureDoesNotMatch)):
        check(with_headers(signed, **{name: f"{value},{value}"}))


@pytest.mark.parametrize("number", range(6))
def test_a_repeated_parameter(number: int) -> None:
    signed = presigned()
    pair = [part for part in signed.query.split(b"&") if part.startswith(b"X-Amz-")][number]
    with pytest.raises(AwsError):
        check(replace(signed, query=signed.query + b"&" + pair))


def test_the_order_of_a_repeated_name_cannot_be_changed() -> None:
    """After sorting, both orders are equal, but only the last value has an effect."""
    signed = by_header(query="Action=SendMessage&Action=DeleteQueue")
    with pytest.raises(SignatureDoesNotMatch, match="twice"):
        check(signed)


def test_a_session_token() -> None:
    temporary = Credentials(KEY_ID, SECRET, "token")
    for signed in (by_header(credentials=temporary), presigned(credentials=temporary)):
        with pytest.raises(InvalidClientTokenId):
            parse(signed)


@pytest.mark.parametrize("payload", ["UNSIGNED-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "0" * 64])
def test_a_payload_that_is_not_hashed(payload: str) -> None:
    """Only S3 allows unsigned payloads. botocore signs any hash that the header contains."""
    with pytest.raises(SignatureDoesNotMatch, match="SHA-256 of the body"):
        check(by_header(headers={**JSON_HEADERS, "X-Amz-Content-SHA256": payload}))


def test_a_header_that_must_be_signed() -> None:
    with pytest.raises(SignatureDoesNotMatch, match="x-amz-target"):
        check(with_headers(by_header(headers={}), x_amz_target="AmazonSQS.DeleteQueue"))
    check(with_headers(by_header(), x_amz_cf_id="added by CloudFront", x_amzn_trace_id="Root=1"))


@pytest.mark.parametrize("names", ["x-amz-date", "x-amz-date;host", "host;host", "Host", "host;nothing"])
def test_signed_headers_are_sorted_and_there(names: str) -> None:
    header = by_header(headers={}).headers[b"authorization"].decode()
    before, _, rest = header.partition("SignedHeaders=")
    after = rest.partition(",")[2]
    with pytest.raises(SignatureDoesNotMatch):
        check(with_headers(by_header(headers={}), authorization=f"{before}SignedHeaders={names},{after}"))


def test_another_secret() -> None:
    with pytest.raises(SignatureDoesNotMatch):
        check(by_header(), secret=SECRET[:-1])


def test_the_scope_is_of_the_day() -> None:
    signed = by_header()
    day = signed.headers[b"x-amz-date"][:8].decode()
    header = signed.headers[b"authorization"].decode()
    with pytest.raises(SignatureDoesNotMatch):
        check(with_headers(signed, authorization=header.replace(f"/{day}/", "/20250101/")))
    with pytest.raises(SignatureDoesNotMatch):
        check(with_headers(signed, authorization=header.replace("eu-west-1", "eu-west-2")))


# --- whatever is changed is refused ----------------------------------------------------------------------------------
HEADER_FORM = by_header(path="/000000000000/q", query="Action=SendMessage&MessageBody=a%20b", body=b"DelaySeconds=0")
QUERY_FORM = presigned(expires=3600)
SIGNED_AT = at()  # The following tests stop the clock, so that no request becomes too old.
ALPHABET = "".join(map(chr, range(0x21, 0x7F)))


def meaning(request: HttpRequest) -> tuple[Any, ...]:
    """Returns the protected parts of a request, which exclude unsigned headers, other encodings of a text, and folded
    spaces.
    """
    kept = {
        name: b" ".join(value.split())
        for name, value in request.headers.items()
        if name not in {b"content-length", b"user-agent"}
    }
    header = kept.get(b"authorization", b"")
    kept[b"authorization"] = b",".join(part.strip() for part in header.split(b","))
    return request.method, request.path, sorted(parse_query_pairs(request.query)), kept, request.body


@st.composite
def edits(draw: st.DrawFn, text: bytes) -> bytes:
    """Draws a text with one character changed, removed or inserted."""
    where = draw(st.integers(0, len(text)))
    new = draw(st.sampled_from(ALPHABET)).encode()
    kind = draw(st.sampled_from(["change", "remove", "insert"]))
    return text[:where] + (b"" if kind == "remove" else new) + text[where + (kind != "insert") :]


@st.composite
def altered(draw: st.DrawFn, request: HttpRequest) -> HttpRequest:
    """Draws a request with one alteration."""
    part = draw(st.sampled_from(["method", "path", "query", "body", "header", "removed header"]))
    if part == "method":
        return replace(request, method=draw(st.sampled_from(["GET", "POST", "PUT", "DELETE"])))
    if part == "path":
        return replace(request, path=draw(edits(request.path.encode())).decode())
    if part == "query":
        return replace(request, query=draw(edits(request.query)))
    if part == "body":
        return replace(request, body=draw(edits(request.body)))
    name = draw(st.sampled_from(sorted(request.headers)))
    headers = dict(request.headers)
    if part == "header":
        headers[name] = draw(edits(headers[name]))
    else:
        del headers[name]
    return replace(request, headers=headers)


def normal(path: str) -> bool:
    """Returns whether the path contains no empty segments and no dot segments, which neither Penstock nor AWS
    distinguishes."""
    return not {"", ".", ".."} & set(path.split("/")[1:])


def test_the_requests_are_good_before_they_are_altered() -> None:
    for request in (HEADER_FORM, QUERY_FORM):
        check(request, now=SIGNED_AT)


@settings(max_examples=2000, deadline=None)
@given(altered(HEADER_FORM))
def test_an_altered_request_is_refused(request: HttpRequest) -> None:
    assume(meaning(request) != meaning(HEADER_FORM) and normal(request.path))
    with pytest.raises(AwsError):
        check(request, now=SIGNED_AT)


@settings(max_examples=2000, deadline=None)
@given(altered(QUERY_FORM))
def test_an_altered_address_is_refused(request: HttpRequest) -> None:
    assume(meaning(request) != meaning(QUERY_FORM) and normal(request.path))
    with pytest.raises(AwsError):
        check(request, now=SIGNED_AT)
