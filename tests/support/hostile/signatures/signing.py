"""Implements Signature Version 4 from AWS's description. A test can do every step wrongly.

The source is "Create a signed AWS API request" (IAM User Guide). The signer supports only what the forgeries need:
paths of unreserved characters, and headers without runs of blanks.
"""

from __future__ import annotations

import hashlib
import hmac
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
    names = (
        ";".join(sorted(name.lower() for name, _ in dated.headers)) if recipe.names is None else recipe.names
    )
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
