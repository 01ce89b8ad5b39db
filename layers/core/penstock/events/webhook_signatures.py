"""Verifies the tokens, passwords and signatures of requests to webhooks.

Comparisons take the same time wherever two values differ. Sources: the documentation of WebhookAuthConfiguration in
botocore's model `eventbridgev2` (1.44.8); Standard Webhooks 1.0.0 ("Signature scheme"); RFC 7617 (Basic). AWS names no
format of timestamps. Penstock reads whole seconds since 1970, as Standard Webhooks and Stripe send them (our choice).
"""

import hmac
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from typing import Final

from .errors import WebhookRefused
from .shapes import WebhookBasicHttpAuthConfiguration, WebhookHmacAuthConfiguration
from .webhook_settings import TOLERANCE_SECONDS, Auth, decode_signing_key

Headers = Mapping[str, Sequence[bytes]]
"""The values of each header, by its name in lower case."""
DIGESTS: Final = {"SHA1": "sha1", "SHA256": "sha256"}
_is_seconds = re.compile(rb"[0-9]{1,12}").fullmatch
_is_hexadecimal = re.compile(rb"[0-9A-Fa-f]{2,}").fullmatch


def verify(auth: Auth, credentials: Sequence[str], headers: Headers, body: bytes, now: float) -> None:
    """Raises WebhookRefused unless the request proves that its sender knows one of the credentials. `now` is the time
    in seconds since 1970."""
    if isinstance(auth, WebhookHmacAuthConfiguration):
        _verify_signature(auth, credentials, headers, body, now)
        return
    if isinstance(auth, WebhookBasicHttpAuthConfiguration):
        given = _read_password(_read_header(headers, "authorization"))
    else:
        given = _read_header(headers, auth.token_http_header)
    if not _any_equal([given], [credential.encode() for credential in credentials]):
        raise WebhookRefused(f"The {'password' if _is_basic(auth) else 'token'} is wrong.")


def _is_basic(auth: Auth) -> bool:
    return isinstance(auth, WebhookBasicHttpAuthConfiguration)


def _any_equal(given: Sequence[bytes], expected: Sequence[bytes]) -> bool:
    """Returns whether one of the values is expected. Compares all pairs, so the time shows no match."""
    return sum(hmac.compare_digest(one, other) for one in given for other in expected) > 0


def _read_header(headers: Headers, name: str) -> bytes:
    """Returns the value of a header that the request must contain once. Raises WebhookRefused."""
    values = headers.get(name.lower(), ())
    if len(values) != 1:
        raise WebhookRefused(f"The request must contain the header {name.lower()} once.")
    return values[0].strip(b" \t")


def _read_password(header: bytes) -> bytes:
    """Returns the user name and password of Basic authentication. Raises WebhookRefused."""
    scheme, _, encoded = header.partition(b" ")
    if scheme.lower() != b"basic":
        raise WebhookRefused("The request must have Basic authentication.")
    return _decode_base64(encoded.strip())


def _decode_base64(text: bytes) -> bytes:
    """Returns the decoded bytes, or no bytes for a text that is not base64."""
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError):
        return b""


# --- signatures ------------------------------------------------------------------------------------------------------
def _verify_signature(
    auth: WebhookHmacAuthConfiguration, credentials: Sequence[str], headers: Headers, body: bytes, now: float
) -> None:
    parts = _split(auth, _read_header(headers, auth.signature_http_header))
    prefix = (auth.signature_prefix or "").encode()
    given = [_decode_signature(auth, part.removeprefix(prefix)) for part in parts if part.startswith(prefix)]
    message = _read_prefix(auth, headers, parts, now) + body
    keys = [decode_signing_key(auth, credential) for credential in credentials]
    expected = [hmac.digest(key, message, DIGESTS[auth.algorithm]) for key in keys]
    if not _any_equal(given, expected):
        raise WebhookRefused("The signature is wrong.")


def _split(auth: WebhookHmacAuthConfiguration, value: bytes) -> list[bytes]:
    """Returns the parts of the signature's header."""
    parts = [value] if auth.delimiter is None else value.split(auth.delimiter.encode())
    return [part.strip(b" \t") for part in parts]


def _decode_signature(auth: WebhookHmacAuthConfiguration, text: bytes) -> bytes:
    """Returns the bytes of a signature, or no bytes for a text in another encoding."""
    if auth.encoding == "BASE64":
        return _decode_base64(text)
    return bytes.fromhex(text.decode()) if _is_hexadecimal(text) and len(text) % 2 == 0 else b""


def _read_prefix(auth: WebhookHmacAuthConfiguration, headers: Headers, parts: Sequence[bytes], now: float) -> bytes:
    """Returns the signed text before the body. Raises WebhookRefused for a timestamp outside the tolerance."""
    if auth.signed_message_composition == "BODY" or auth.timestamp_http_header is None:
        return b""
    timestamp = _read_timestamp(auth, headers, parts)
    if abs(now - int(timestamp)) > (auth.timestamp_tolerance_in_seconds or TOLERANCE_SECONDS):
        raise WebhookRefused("The timestamp is too far from the present time.")
    if auth.signed_message_composition == "TIMESTAMP_DOT_BODY":
        return timestamp + b"."
    message_id = _read_header(headers, auth.message_id_http_header or "")
    if not message_id or b"." in message_id:
        raise WebhookRefused("The message id must not be empty and must not contain a period.")
    return message_id + b"." + timestamp + b"."


def _read_timestamp(auth: WebhookHmacAuthConfiguration, headers: Headers, parts: Sequence[bytes]) -> bytes:
    """Returns the timestamp without its prefix, as it is signed. Raises WebhookRefused."""
    header, prefix = auth.timestamp_http_header or "", (auth.timestamp_prefix or "").encode()
    if header.lower() != auth.signature_http_header.lower():
        parts = [_read_header(headers, header)]
    found = [part.removeprefix(prefix) for part in parts if part.startswith(prefix)]
    if len(found) != 1 or not _is_seconds(found[0]):
        raise WebhookRefused("The request must have one timestamp in seconds since 1970.")
    return found[0]
