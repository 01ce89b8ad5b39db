"""Verifies Signature Version 4 of a request, in the Authorization header or the query string.

    claim = parse(http)                         # the signature that the request claims, or a typed error
    verify(http, claim, secret, time())         # raises SignatureDoesNotMatch

The functions are pure, so they do not read the clock or look up keys. Sources: "Create a signed AWS API request" and
"Troubleshoot signed requests" (IAM User Guide), "Common Query parameters" (SQS API reference). The functions are
stricter than AWS where a lenient parser could give one signature two meanings. A name can occur only once in the query
string, and every `x-amz-*` header must be signed, except those that CloudFront adds. The functions refuse
UNSIGNED-PAYLOAD and chunked payloads, because only S3 uses these payloads.
"""

import hmac
import re
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from penstock.aws.arn import is_region
from penstock.errors import (
    AwsError,
    IncompleteSignature,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    SignatureDoesNotMatch,
)
from penstock.http import HttpRequest

ALGORITHM = "AWS4-HMAC-SHA256"
CLOCK_SKEW_SECONDS = 15 * 60
MAX_EXPIRES_SECONDS = 604_800
# The length in characters of the longest header, or part of a header, that is cached. No client sends longer headers.
# The limit bounds the memory of the caches.
MAX_CACHED_LENGTH = 2048
# The only parameter that can be repeated (UntagResource of EventBridge Scheduler). The order of the parameter's values
# has no meaning.
SET_MEMBER = b"TagKeys"

_TIMESTAMP = re.compile(r"[0-9]{8}T[0-9]{6}Z", re.ASCII).fullmatch
_SIGNATURE = re.compile(r"[0-9a-f]{64}").fullmatch
_EXPIRES = re.compile(r"[0-9]{1,7}").fullmatch
_PARTS = ("Credential", "SignedHeaders", "Signature")
_QUERY_PARTS = ("Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature")

Pairs = list[tuple[bytes, bytes]]


class CredentialScope(NamedTuple):
    """The account, region and service in a request's credential scope."""

    account_id: str
    region: str
    service: str


class SignatureClaim(NamedTuple):
    """The signature that a request claims. Only a presigned URL has `expires_seconds`.

    `pairs` are the query string's parameters, which the signature also covers.
    """

    access_key_id: str
    date: str
    region: str
    service: str
    timestamp: str
    signed_headers: str
    signature: str
    expires_seconds: int | None
    pairs: Pairs

    @property
    def scope(self) -> str:
        """Returns the credential scope for which the signing key is valid."""
        return f"{self.date}/{self.region}/{self.service}/aws4_request"


# --- parsing the claim -----------------------------------------------------------------------------------------------
def parse(http: HttpRequest) -> SignatureClaim:
    """Returns the signature that a request claims.

    Raises MissingAuthenticationToken for a request without a signature, and IncompleteSignature for an incomplete
    signature or two signatures. Raises InvalidClientTokenId for a session token, because Penstock issues no session
    tokens, and SignatureDoesNotMatch for an impossible scope.
    """
    header = http.headers.get(b"authorization")
    pairs = parse_query_pairs(http.query) if http.query else []
    presigned = any(name.startswith(b"X-Amz-") for name, _ in pairs)
    if header is not None and presigned:
        raise IncompleteSignature("Only one of Authorization header and X-Amz-… query parameters is allowed.")
    if header is not None:
        return _parse_header(header.decode("latin-1"), http, pairs)
    if presigned:
        return _parse_query(pairs)
    raise MissingAuthenticationToken


def _parse_header(header: str, http: HttpRequest, pairs: Pairs) -> SignatureClaim:
    # The headers of a client's requests often differ only in the signature, so the function caches the other parsed
    # parts.
    before, _, signature = header.rpartition("Signature=")
    if "," in signature or " " in signature or len(header) > MAX_CACHED_LENGTH:
        parts = _read_parts(header)
        signature = parts.get("Signature", "")
    else:
        parts = _cached_parts(f"{before}Signature=?")
    for name, value in (*((name, parts.get(name)) for name in _PARTS[:2]), ("Signature", signature)):
        if not value:
            raise IncompleteSignature(f"Authorization header requires '{name}' parameter.")
    _refuse_session(http.headers.get(b"x-amz-security-token"))
    timestamp = http.headers.get(b"x-amz-date") or http.headers.get(b"date") or b""
    shown = timestamp.decode("latin-1")
    return _build_claim(parts["Credential"], shown, parts["SignedHeaders"], signature, None, pairs)


def _read_parts(header: str) -> dict[str, str]:
    algorithm, _, rest = header.strip().partition(" ")
    if algorithm != ALGORITHM:
        raise IncompleteSignature(f"Authorization must begin with '{ALGORITHM}'.")
    parts: dict[str, str] = {}
    for part in rest.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or name in parts or name not in _PARTS:
            raise IncompleteSignature("Authorization is not Credential=…, SignedHeaders=…, Signature=….")
        parts[name] = value
    return parts


_cached_parts = lru_cache(maxsize=1024)(_read_parts)


def _parse_query(pairs: Pairs) -> SignatureClaim:
    parameters = _take_single(pairs)
    for name in _QUERY_PARTS:
        if not parameters.get(f"X-Amz-{name}"):
            raise IncompleteSignature(f"AWS query-string parameters must include 'X-Amz-{name}'.")
    if parameters["X-Amz-Algorithm"] != ALGORITHM:
        raise IncompleteSignature(f"X-Amz-Algorithm must be '{ALGORITHM}'.")
    _refuse_session(parameters.get("X-Amz-Security-Token"))
    expires = parameters["X-Amz-Expires"]
    if not _EXPIRES(expires) or not 1 <= int(expires) <= MAX_EXPIRES_SECONDS:
        raise IncompleteSignature(f"X-Amz-Expires must be 1 to {MAX_EXPIRES_SECONDS} seconds.")
    return _build_claim(
        parameters["X-Amz-Credential"],
        parameters["X-Amz-Date"],
        parameters["X-Amz-SignedHeaders"],
        parameters["X-Amz-Signature"],
        int(expires),
        pairs,
    )


def _build_claim(
    credential: str, timestamp: str, signed_headers: str, signature: str, expires: int | None, pairs: Pairs
) -> SignatureClaim:
    key, date, region, service = _parse_scope(credential)
    if not _TIMESTAMP(timestamp):
        raise IncompleteSignature("The request needs X-Amz-Date in the form 20250101T000000Z.")
    if not _SIGNATURE(signature):
        raise IncompleteSignature("Signature must be 64 hexadecimal digits.")
    if date != timestamp[:8]:
        raise _build_scope_error()
    return SignatureClaim(key, date, region, service, timestamp, signed_headers, signature, expires, pairs)


@lru_cache(maxsize=1024)
def _parse_scope(credential: str) -> tuple[str, str, str, str]:
    """Returns the key id, the date, the region and the service."""
    parts = credential.split("/")
    if len(parts) != 5 or len(credential) > MAX_CACHED_LENGTH:
        raise IncompleteSignature("Credential must be <key id>/<date>/<region>/<service>/aws4_request.")
    key, date, region, service, end = parts
    if end != "aws4_request" or not is_region(region):
        raise _build_scope_error()
    return key, date, region, service


def _build_scope_error() -> SignatureDoesNotMatch:
    return SignatureDoesNotMatch("Credential should be scoped to the day of X-Amz-Date and a valid region.")


def _refuse_session(token: bytes | str | None) -> None:
    if token is not None:
        raise InvalidClientTokenId


def covers_header(http: HttpRequest, name: str) -> bool:
    """Returns whether the signature that the request claims covers this header. `name` is in lower case."""
    try:
        return name in parse(http).signed_headers.split(";")
    except AwsError:
        return False


# --- verifying the claim ---------------------------------------------------------------------------------------------
def verify(http: HttpRequest, claim: SignatureClaim, secret: str, now: float) -> None:
    """Raises SignatureDoesNotMatch if another secret signed the request, or if the signature is not valid at `now`.

    `now` is in Unix time. A signed header is valid from 15 minutes before the header's date to 15 minutes after this
    date. A presigned URL is valid until it expires.
    """
    check_time(claim, now)
    key = derive_signing_key(secret, claim.date, claim.region, claim.service)
    expected = hmac.digest(key, build_string_to_sign(http, claim).encode(), "sha256").hex()
    if not hmac.compare_digest(expected, claim.signature):
        raise SignatureDoesNotMatch


def check_time(claim: SignatureClaim, now: float) -> None:
    """Raises SignatureDoesNotMatch, with AWS's text, if the signature is from the future or has expired."""
    at = _parse_seconds(claim.timestamp)
    last = CLOCK_SKEW_SECONDS if claim.expires_seconds is None else claim.expires_seconds
    if now > at + last:
        limit = _decode_text(now - last)
        raise SignatureDoesNotMatch(f"Signature expired: {claim.timestamp} is now earlier than {limit}")
    if at > now + CLOCK_SKEW_SECONDS:
        limit = _decode_text(now + CLOCK_SKEW_SECONDS)
        raise SignatureDoesNotMatch(f"Signature not yet current: {claim.timestamp} is still later than {limit}")


@lru_cache(maxsize=128)
def _parse_seconds(timestamp: str) -> float:
    try:
        year, month, day = int(timestamp[:4]), int(timestamp[4:6]), int(timestamp[6:8])
        hour, minute, second = int(timestamp[9:11]), int(timestamp[11:13]), int(timestamp[13:15])
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        raise IncompleteSignature("X-Amz-Date is not a date.") from None


def _decode_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%SZ")


@lru_cache(maxsize=1024)
def derive_signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    """Returns the signing key for a day, a region and a service. Deriving a key takes four of the five HMACs of a
    verification, so the function caches keys."""
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def build_string_to_sign(http: HttpRequest, claim: SignatureClaim) -> str:
    """Returns the algorithm, the time, the scope and the hash of the canonical request."""
    digest = sha256(build_canonical_request(http, claim)).hexdigest()
    return f"{ALGORITHM}\n{claim.timestamp}\n{claim.scope}\n{digest}"


def build_canonical_request(http: HttpRequest, claim: SignatureClaim) -> bytes:
    """Returns the method, the path, the query, the headers, the header names and the payload's hash. Raises
    SignatureDoesNotMatch."""
    return b"\n".join(
        (
            http.method.encode(),
            build_canonical_path(http.path),
            build_canonical_query(claim.pairs),
            build_canonical_headers(http, claim.signed_headers),
            claim.signed_headers.encode("latin-1"),
            hash_payload(http),
        )
    )


def build_canonical_path(path: str) -> bytes:
    """Returns the path without dot segments and empty segments, encoded twice. The server passes `path` decoded.

    An ARN in a path is one segment, because the client has encoded the slash.
    """
    if path == "/":
        return b"/"
    if path.startswith("/tags/"):
        once = quote_from_bytes(unquote_to_bytes(path[6:].encode("utf-8", "surrogatepass")), safe="~")
        return b"/tags/" + quote_from_bytes(once.encode(), safe="~").encode()
    if not path.startswith("/"):
        raise SignatureDoesNotMatch
    segments: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del segments[-1:]
        elif part not in {"", "."}:
            segments.append(part)
    end = "/" if path.endswith("/") and segments else ""
    once = quote_from_bytes(f"/{'/'.join(segments)}{end}".encode("utf-8", "surrogatepass"), safe="/~")
    return quote_from_bytes(once.encode(), safe="/~").encode()


def parse_query_pairs(query: bytes) -> Pairs:
    """Returns the decoded names and values. A plus sign is a space, as in the Query protocol."""
    pairs = [part.partition(b"=") for part in query.replace(b"+", b"%20").split(b"&") if part]
    return [(unquote_to_bytes(name), unquote_to_bytes(value)) for name, _, value in pairs]


def build_canonical_query(pairs: Pairs) -> bytes:
    """Returns the encoded and sorted parameters without the signature."""
    if not pairs:
        return b""
    _take_single(pairs)
    encoded = sorted(
        (quote_from_bytes(name, safe="~"), quote_from_bytes(value, safe="~"))
        for name, value in pairs
        if name != b"X-Amz-Signature"
    )
    return "&".join(f"{name}={value}" for name, value in encoded).encode()


def _take_single(pairs: Pairs) -> dict[str, str]:
    """Returns the parameters by name, without SET_MEMBER. Refuses a repeated name, because the canonical form loses
    the order of the values."""
    single = [(name, value) for name, value in pairs if name != SET_MEMBER]
    parameters = {name.decode("latin-1"): value.decode("latin-1") for name, value in single}
    if len(parameters) != len(single):
        raise SignatureDoesNotMatch("A parameter of the query string is given twice.")
    return parameters


def build_canonical_headers(http: HttpRequest, signed_headers: str) -> bytes:
    """Returns a trimmed line for each signed header. Raises SignatureDoesNotMatch for a missing or unsigned header."""
    names = _split_names(signed_headers)
    for name in http.headers:
        if name.startswith(b"x-amz-") and name not in names and not name.startswith(b"x-amz-cf-"):
            shown = name.decode("latin-1")
            raise SignatureDoesNotMatch(f"'{shown}' must be a 'SignedHeader' in the AWS Authorization.")
    try:
        lines = [b"%b:%b\n" % (name, b" ".join(http.headers[name].split())) for name in names]
    except KeyError as missing:
        shown = missing.args[0].decode("latin-1")
        raise SignatureDoesNotMatch(f"The signed header '{shown}' is missing.") from None
    return b"".join(lines)


@lru_cache(maxsize=1024)
def _split_names(signed_headers: str) -> dict[bytes, None]:
    """Returns the names in SignedHeaders, in order, as keys of a dict. Raises SignatureDoesNotMatch."""
    names = signed_headers.encode("latin-1").split(b";")
    if len(signed_headers) > MAX_CACHED_LENGTH or any(first >= second for first, second in pairwise(names)):
        raise SignatureDoesNotMatch("SignedHeaders must be sorted and must not repeat a header.")
    if b"host" not in names:
        raise SignatureDoesNotMatch("'Host' must be a 'SignedHeader' in the AWS Authorization.")
    return dict.fromkeys(names)


def hash_payload(http: HttpRequest) -> bytes:
    """Returns the body's hash in hexadecimal. Raises an error if X-Amz-Content-Sha256 is present and differs from the
    hash."""
    digest = sha256(http.body).hexdigest().encode()
    if http.headers.get(b"x-amz-content-sha256", digest) != digest:
        raise SignatureDoesNotMatch("X-Amz-Content-Sha256 is not the SHA-256 of the body.")
    return digest
