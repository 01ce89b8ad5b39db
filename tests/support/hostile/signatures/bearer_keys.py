"""Generates invalid bearer keys of the REST API: values of Authorization, and credentials in other places.

RFC 6750, 2.1, defines the valid form (`Authorization: Bearer` and the key, nothing else). Sections 2.2 and 2.3, a
form and the query string, are not supported. The scheme may have any letter case (RFC 9110, 11.1).
"""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from tests.support.hostile.signatures.signing import flips

Header = tuple[str, str]


class Attempt(NamedTuple):
    """A request that reads queues, with its headers and its query string."""

    name: str
    headers: tuple[Header, ...]
    query: str = ""


def allowed(key: str) -> Iterator[Attempt]:
    """Yields the allowed forms of the key."""
    for scheme in ("Bearer", "bearer", "BEARER"):
        yield Attempt(scheme, (("Authorization", f"{scheme} {key}"),))


def forgeries(key: str, others: dict[str, str]) -> Iterator[Attempt]:
    """Yields forgeries of `key`, a good key `id.secret`. `others` maps names to keys that have expired or belong
    elsewhere.
    """
    key_id, _, secret = key.partition(".")
    hashed = sha256(secret.encode()).hexdigest()
    tokens = {
        # These keys come first, because the service looks up only a limited number of unknown ids.
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
