"""Implements Signature Version 4 in a header, as cheaply as a load generator needs it ("Create a signed AWS API
request", IAM).

The module rounds a signature's time to a second, and computes each day's key once.
"""

import hmac
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from time import gmtime, strftime

REGION = "us-east-1"
SIGNED_HEADERS = "content-type;host;x-amz-date;x-amz-target"


@dataclass(frozen=True, slots=True)
class Key:
    """An access key and its account."""

    account: str
    key_id: str
    secret: str


def signature_headers(key: Key, service: str, host: str, content_type: str, target: str, body: bytes) -> str:
    """Returns the lines of X-Amz-Date and Authorization for `POST /` with these headers and this body."""
    at = strftime("%Y%m%dT%H%M%SZ", gmtime())
    scope = f"{at[:8]}/{REGION}/{service}/aws4_request"
    canonical = (
        f"POST\n/\n\ncontent-type:{content_type}\nhost:{host}\nx-amz-date:{at}\nx-amz-target:{target}\n\n"
        f"{SIGNED_HEADERS}\n{sha256(body).hexdigest()}"
    )
    text = f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    signature = hmac.new(signing_key(key.secret, at[:8], service), text.encode(), sha256).hexdigest()
    return (
        f"X-Amz-Date: {at}\r\nAuthorization: AWS4-HMAC-SHA256 Credential={key.key_id}/{scope}, "
        f"SignedHeaders={SIGNED_HEADERS}, Signature={signature}"
    )


@lru_cache(maxsize=64)
def signing_key(secret: str, day: str, service: str) -> bytes:
    """Returns the key of a day, region and service."""
    key = f"AWS4{secret}".encode()
    for part in (day, REGION, service, "aws4_request"):
        key = hmac.new(key, part.encode(), sha256).digest()
    return key
