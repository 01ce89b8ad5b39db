"""Creates the Authorization header for an endpoint that requires a user and a password. Supports Basic (RFC 7617) and
Digest (RFC 7616).

SNS sends the first request without a user and a password. SNS sends the request again after a 401 response that
contains a challenge ("Fanout Amazon SNS notifications to HTTPS endpoints"). httpx computes Digest. The first Digest
challenge imports httpx, because the import takes 0.1 s.
"""

import base64
import re
from collections.abc import Sequence
from typing import Final

from penstock.endpoint import Credentials, Endpoint

UNAUTHORIZED: Final = 401
_SCHEME: Final = re.compile(r"(?:^|,)\s*(basic|digest)(?=\s|,|$)", re.IGNORECASE)
_VALUE: Final = re.compile(r"[ -~]+").fullmatch


def respond_to_challenge(endpoint: Endpoint, credentials: Credentials, challenges: Sequence[str]) -> str | None:
    """Returns the value of a POST's Authorization header, or None if Penstock does not support any of the challenges.

    `challenges` are the values of WWW-Authenticate. Prefers Digest, because Digest does not reveal the password.
    """
    offered = {scheme.lower() for challenge in challenges for scheme in _SCHEME.findall(challenge)}
    value = None
    if "digest" in offered:
        value = _respond_to_digest(endpoint, credentials, challenges)
    if value is None and "basic" in offered:
        pair = f"{credentials.user}:{credentials.password}".encode()
        value = f"Basic {base64.b64encode(pair).decode()}"
    return value if value is not None and _VALUE(value) else None


def _respond_to_digest(endpoint: Endpoint, credentials: Credentials, challenges: Sequence[str]) -> str | None:
    import httpx  # noqa: PLC0415

    request = httpx.Request("POST", f"{endpoint.scheme}://{endpoint.host_header}{endpoint.target}")
    # A header can contain several challenges.
    single = [
        ("www-authenticate", challenge[match.start(1) :])
        for challenge in challenges
        for match in _SCHEME.finditer(challenge)
        if match[1].lower() == "digest"
    ]
    flow = httpx.DigestAuth(credentials.user, credentials.password).sync_auth_flow(request)
    try:
        next(flow)
        repeated = flow.send(httpx.Response(UNAUTHORIZED, headers=single, request=request))
    except (httpx.HTTPError, KeyError, NotImplementedError, StopIteration, ValueError):
        return None  # httpx does not support the algorithm or the protection
    return str(repeated.headers["authorization"])
