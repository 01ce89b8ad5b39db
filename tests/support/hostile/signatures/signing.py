"""Implements Signature Version 4 from AWS's description. A test can do every step wrongly.

The source is "Create a signed AWS API request" (IAM User Guide). The signer supports only what the forgeries need:
paths of unreserved characters, and headers without runs of blanks.

Signs the requests that the forgeries change, and holds the code that forgeries share.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import quote, urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"
Key = tuple[str, str]


class Request(NamedTuple):
    """A request on the wire. `target` is path and query string."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        """Returns the value of a header, or "" if the request lacks the header."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    def with_header(self, name: str, given: str | None) -> Request:
        """Returns the request with another value for a header, or without it (None)."""
        changed = [(key, given if key.lower() == name else value) for key, value in self.headers]
        return self._replace(headers=tuple((key, value) for key, value in changed if value is not None))

    def adding(self, *headers: tuple[str, str]) -> Request:
        return self._replace(headers=(*self.headers, *headers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Says how to sign. The defaults are right.

    `seconds` is the clock's error. `timestamp`, `scope` and `names` replace the time, the credential scope and
    SignedHeaders. `derived_from` replaces the input of the signing key, and `payload` the last line of the canonical
    request. `method` and `target` are signed instead of the request's.
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
        """X-Amz-Date."""
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
    """Adds Authorization, and X-Amz-Date if the request lacks it."""
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
    """The owner of the key `key`. `queue_url` is a queue of the owner, `other_path` a path of another queue,
    and `partner` a key of another account."""

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
        """Yields the three forms with this signature."""
        yield f"json, {name}", self.json(recipe)
        yield f"form, {name}", self.form(recipe)
        yield f"address, {name}", self.address(recipe)

    def headers(self, recipe: Recipe, name: str, *more: tuple[str, str]) -> Forgeries:
        """Yields the two forms with headers and this signature."""
        yield f"json, {name}", self.json(recipe, *more)
        yield f"form, {name}", self.form(recipe, *more)


def in_header(request: Request, changes: Iterable[tuple[str, str, str]]) -> Forgeries:
    """Yields the requests with a part of Authorization replaced after signing."""
    header = request.header("authorization")
    for name, old, new in changes:
        assert old in header, name
        yield name, request.with_header("authorization", header.replace(old, new, 1))


def in_target(request: Request, changes: Iterable[tuple[str, str, str]]) -> Forgeries:
    """Yields signed requests in which a part of the target was replaced after signing."""
    for name, old, new in changes:
        assert old in request.target, name
        yield name, request._replace(target=request.target.replace(old, new, 1))


def flips(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yields the text with the lowest bit of one character changed, for each character from `start`."""
    for place in range(start, len(text)):
        yield place, f"{text[:place]}{chr(ord(text[place]) ^ 1)}{text[place + 1 :]}"
