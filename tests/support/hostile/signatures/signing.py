"""Implements Signature Version 4 by AWS's description. A test can make any step wrong.

The source is "Create a signed AWS API request" (IAM User Guide). The signer supports only paths of unreserved
characters, and headers without runs of spaces.

Also signs the requests that the forgeries change.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote, urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"
Key = tuple[str, str]


class Request(NamedTuple):
    """A request. `target` is the path and the query string."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        """Returns a header's value, or "" if the header is missing."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    def with_header(self, name: str, given: str | None) -> Request:
        """Replaces a header's value. None removes the header."""
        changed = [(key, given if key.lower() == name else value) for key, value in self.headers]
        return self._replace(headers=tuple((key, value) for key, value in changed if value is not None))

    def adding(self, *headers: tuple[str, str]) -> Request:
        return self._replace(headers=(*self.headers, *headers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Says how to sign. The defaults give a valid signature.

    `seconds` is the clock's error. `timestamp`, `scope` and `names` replace the time, the credential scope and
    SignedHeaders. `derived_from` replaces the input of the signing key, and `payload` the last line of the canonical
    request. `method` and `target` replace the request's values in the signed text.
    """

    seconds: float = 0
    region: str = "us-east-1"
    service: str = "sqs"
    algorithm: str = ALGORITHM
    digest: str = "sha256"
    prefix: str = "AWS4"
    timestamp: str | None = None
    scope: str | None = None
    derived_from: tuple[str, ...] | None = None
    names: str | None = None
    payload: str | None = None
    method: str | None = None
    target: str | None = None
    expires: str = "60"
    scope_is_signed: bool = True

    def written_timestamp(self) -> str:
        """Returns X-Amz-Date."""
        moment = datetime.now(UTC) + timedelta(seconds=self.seconds)
        return moment.strftime("%Y%m%dT%H%M%SZ") if self.timestamp is None else self.timestamp

    def parts(self, timestamp: str) -> tuple[str, ...]:
        """Returns the parts of the credential scope."""
        return (timestamp[:8], self.region, self.service, "aws4_request")

    def signature(self, request: Request, secret: str, timestamp: str, scope: str, names: str) -> str:
        """Returns the signature of a canonical request."""
        address = urlsplit(self.target or request.target)
        lines = "".join(f"{name}:{request.header(name)}\n" for name in names.split(";") if name)
        payload = hashlib.sha256(request.body).hexdigest() if self.payload is None else self.payload
        query = "&".join(sorted(address.query.split("&")))
        canonical = "\n".join((self.method or request.method, address.path, query, lines, names, payload))
        hashed = hashlib.new(self.digest, canonical.encode()).hexdigest()
        signed = [self.algorithm, timestamp, *([scope] if self.scope_is_signed else []), hashed]
        key = f"{self.prefix}{secret}".encode()
        for part in self.parts(timestamp) if self.derived_from is None else self.derived_from:
            key = hmac.digest(key, part.encode(), self.digest)
        return hmac.digest(key, "\n".join(signed).encode(), self.digest).hex()


def sign_header(request: Request, key: Key, recipe: Recipe = Recipe()) -> Request:
    """Adds Authorization, and X-Amz-Date if it is missing."""
    key_id, secret = key
    timestamp = recipe.written_timestamp()
    present = {name.lower() for name, _ in request.headers}
    dated = request if "x-amz-date" in present or not timestamp else request.adding(("X-Amz-Date", timestamp))
    names = ";".join(sorted(name.lower() for name, _ in dated.headers)) if recipe.names is None else recipe.names
    scope = "/".join(recipe.parts(timestamp)) if recipe.scope is None else recipe.scope
    signature = recipe.signature(dated, secret, timestamp, scope, names)
    value = f"{recipe.algorithm} Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return dated.adding(("Authorization", value))


def sign_address(request: Request, key: Key, recipe: Recipe = Recipe()) -> Request:
    """Adds the signature to the query string."""
    key_id, secret = key
    timestamp = recipe.written_timestamp()
    scope = "/".join(recipe.parts(timestamp)) if recipe.scope is None else recipe.scope
    names = "host" if recipe.names is None else recipe.names
    given = {
        "Algorithm": recipe.algorithm, "Credential": f"{key_id}/{scope}", "Date": timestamp, "Expires": recipe.expires,
        "SignedHeaders": names,
    }  # fmt: skip
    added = "&".join(f"X-Amz-{name}={quote(value, safe='')}" for name, value in given.items())
    asked = request._replace(target=f"{request.target}&{added}")
    return asked._replace(
        target=f"{asked.target}&X-Amz-Signature={recipe.signature(asked, secret, timestamp, scope, names)}"
    )


JSON = ("Content-Type", "application/x-amz-json-1.0")
FORM = ("Content-Type", "application/x-www-form-urlencoded")
SEND = ("X-Amz-Target", "AmazonSQS.SendMessage")
RIGHT = Recipe()

Forgeries = Iterator[tuple[str, Request]]


class Signer(NamedTuple):
    """Signs with `key`. `queue_url` is a queue of the key's account, `other_path` the path of another queue, and
    `partner` a key of another account.
    """

    endpoint_url: str
    queue_url: str
    other_path: str
    key: Key
    partner: Key

    @property
    def host(self) -> str:
        return urlsplit(self.endpoint_url).netloc

    @property
    def region(self) -> str:
        return RIGHT.region

    def unsigned_json(self, *more: tuple[str, str]) -> Request:
        body = b'{"QueueUrl":"%s","MessageBody":"signed"}' % self.queue_url.encode()
        return Request("POST", "/", (("Host", self.host), JSON, SEND, *more), body)

    def unsigned_form(self, *more: tuple[str, str]) -> Request:
        body = b"Action=SendMessage&MessageBody=signed"
        return Request("POST", urlsplit(self.queue_url).path, (("Host", self.host), FORM, *more), body)

    def unsigned_address(self, query: str = "Action=SendMessage&MessageBody=signed") -> Request:
        return Request("GET", f"{urlsplit(self.queue_url).path}?{query}", (("Host", self.host),), b"")

    def json(self, recipe: Recipe = RIGHT, *more: tuple[str, str]) -> Request:
        return sign_header(self.unsigned_json(*more), self.key, recipe)

    def form(self, recipe: Recipe = RIGHT, *more: tuple[str, str]) -> Request:
        return sign_header(self.unsigned_form(*more), self.key, recipe)

    def address(self, recipe: Recipe = RIGHT) -> Request:
        return sign_address(self.unsigned_address(), self.key, recipe)

    def each(self, recipe: Recipe, name: str) -> Forgeries:
        """Yields the three forms with the given recipe."""
        yield f"json, {name}", self.json(recipe)
        yield f"form, {name}", self.form(recipe)
        yield f"address, {name}", self.address(recipe)

    def headers(self, recipe: Recipe, name: str, *more: tuple[str, str]) -> Forgeries:
        """Yields the two forms with additional headers and the given recipe."""
        yield f"json, {name}", self.json(recipe, *more)
        yield f"form, {name}", self.form(recipe, *more)


def in_header(request: Request, changes: Iterable[tuple[str, str, str]]) -> Forgeries:
    """Replaces a part of Authorization after signing."""
    header = request.header("authorization")
    for name, old, new in changes:
        assert old in header, name
        yield name, request.with_header("authorization", header.replace(old, new, 1))


def in_target(request: Request, changes: Iterable[tuple[str, str, str]]) -> Forgeries:
    """Replaces a part of the target after signing."""
    for name, old, new in changes:
        assert old in request.target, name
        yield name, request._replace(target=request.target.replace(old, new, 1))


def flips(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yields the text with the lowest bit of one character flipped, for each character from `start`."""
    for place in range(start, len(text)):
        yield place, f"{text[:place]}{chr(ord(text[place]) ^ 1)}{text[place + 1 :]}"


# --- bearer keys -----------------------------------------------------------------------------------------------------
# Generates invalid bearer keys for the REST API: invalid Authorization headers, and credentials in other places. RFC
# 6750, 2.1, defines the valid form: `Authorization: Bearer` and the key. Penstock does not accept a key in a form (2.2)
# or in the query string (2.3). The scheme may have any letter case (RFC 9110, 11.1).

Header = tuple[str, str]


class Attempt(NamedTuple):
    """Describes a request that lists queues, with its headers and its query string."""

    name: str
    headers: tuple[Header, ...]
    query: str = ""


def allowed(key: str) -> Iterator[Attempt]:
    """Yields valid forms of the key."""
    for scheme in ("Bearer", "bearer", "BEARER"):
        yield Attempt(scheme, (("Authorization", f"{scheme} {key}"),))


def forgeries(key: str, others: dict[str, str]) -> Iterator[Attempt]:
    """Yields forgeries of `key`, a valid key `id.secret`. `others` maps names to keys that have expired or belong
    elsewhere.
    """
    key_id, _, secret = key.partition(".")
    hashed = sha256(secret.encode()).hexdigest()
    tokens = {
        # The keys in `others` come first, because the service looks up only a limited number of unknown ids.
        **others,
        **{f"character {place}": changed for place, changed in flips(key)},
        **{f"cut to {length}": key[:length] for length in range(len(key))},
        **{f"without the first {length}": key[length:] for length in range(1, len(key_id) + 2)},
        "longer": key + "0", "twice": key + key, "backwards": key[::-1], "in capitals": key.upper() + "X",
        "in small letters": key.lower() + "x", "the hash that is stored": f"{key_id}.{hashed}",
        "the hash alone": hashed, "base64": b64encode(key.encode()).decode(), "in quotes": f'"{key}"',
        "with a comma": f"{key},",
        "as a list": f"{key},{key}", "with a parameter": f"{key};x=y", "a blank inside": key.replace(".", ". "),
        "another dot": key.replace(".", ".."), "a colon": key.replace(".", ":"), "NUL as text": f"{key}%00",
        "escaped": key.replace(".", "%2E"), "null": "null", "undefined": "undefined", "a wildcard": "*",
        "an id and a wildcard":
        f"{key_id}.*", "SQL": f"{key_id}' or '1'='1", "SQL after the id": f"{key_id}.' or 1=1 --",
        "a path": f"../{key}",
        "a byte more": f"{key}\xff", "an unsigned JWT": "eyJhbGciOiJub25lIn0.eyJzdWIiOiIwMDAwMDAwMDAwMDAifQ.",
        "an account": f"000000000000.{secret}",
    }  # fmt: skip
    for name, token in tokens.items():
        yield Attempt(name, (("Authorization", f"Bearer {token}"),))
    pair = b64encode(f"{key_id}:{secret}".encode()).decode()
    scope = f"{key_id}/20250101/us-east-1/sqs/aws4_request"
    for value in (
        key, f"Basic {pair}", f"Basic {key}", f"Token {key}", f"Bearer{key}", f"Bearer:{key}", f"Bearer={key}",
        f"X Bearer {key}", f"AWS {key_id}:{pair}", "Bearer", "", f"Digest {key}", f"Bearer, Bearer {key}",
        f"ApiKey {key}", f"Bearer\t{key}",
        f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature={hashed}",
    ):  # fmt: skip
        yield Attempt(f"the header {value[:12]!r}", (("Authorization", value),))
    for header in ("X-Api-Key", "X-Authorization", "Proxy-Authorization", "X-Amz-Security-Token", "X-Auth-Token"):
        yield Attempt(header, ((header, f"Bearer {key}"),))
    yield Attempt("a cookie", (("Cookie", f"access_token={key}; Authorization=Bearer {key}"),))
    yield Attempt("nothing", ())
    yield Attempt("a second header", (("Authorization", f"Bearer {key}"), ("Authorization", "Bearer x.y")))
    for parameter in ("access_token", "token", "authorization", "key"):
        yield Attempt(f"parameter {parameter}", (), f"?{parameter}={key}")
