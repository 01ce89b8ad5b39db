"""Gets access tokens for connections with the grant type client_credentials (RFC 6749, section 4.4).

The client's id and secret are in the body, or for GET in the query string (section 2.3.1). A process keeps a token
until shortly before its end, or until an API destination answers 401 or 407. Source: "Authorization methods for
connections" (EventBridge User Guide).
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from time import monotonic
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from penstock.aws.json_text import decode_json
from penstock.delivery.http.connection import Response
from penstock.endpoint import Endpoint, parse_endpoint
from penstock.events.connections import ConnectionHttpParameters, OAuthGrant, is_header_value

from .subscriber import Refusal

DEFAULT_SECONDS: Final = 3_600
"""How long a process keeps a token whose response has no expires_in."""
MARGIN_SECONDS: Final = 30
"""The time before the end of a token at which a process gets a new one."""
MAX_KEPT: Final = 3_000
NO_PARAMETERS: Final = ConnectionHttpParameters()
FORM: Final = "application/x-www-form-urlencoded"


class TokenRefusedError(Exception):
    """The authorization endpoint gave no token. `refusal` is the refusal of the events."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Key(NamedTuple):
    """A connection and its last change."""

    arn: str
    revision: datetime


class _Token(NamedTuple):
    text: str
    ends_at: float


class Tokens:
    """The tokens of a process."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._kept: dict[Key, _Token] = {}

    def find(self, key: Key) -> str | None:
        token = self._kept.get(key)
        return token.text if token is not None and self._clock() < token.ends_at else None

    def keep(self, key: Key, text: str, seconds: float) -> None:
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[key] = _Token(text, self._clock() + seconds - MARGIN_SECONDS)

    def forget(self, key: Key, text: str) -> None:
        """Forgets a token that an API destination has refused, unless there is a newer one."""
        if self._kept.get(key, _Token("", 0.0)).text == text:
            del self._kept[key]


def build_token_request(oauth: OAuthGrant) -> tuple[Endpoint, Mapping[str, str], bytes | None]:
    """Returns the endpoint, the headers and the body of a request for a token. A request with GET has no body. Raises
    EndpointInvalid."""
    more = oauth.http_parameters or NO_PARAMETERS
    client = oauth.client_parameters
    fields = {
        "grant_type": "client_credentials",
        "client_id": client.client_id,
        "client_secret": client.client_secret,
        **{each.key: each.value for each in more.body_parameters},
    }
    query = {each.key: each.value for each in more.query_string_parameters}
    headers = {"Accept": "application/json", **{each.key: each.value for each in more.header_parameters}}
    body = None
    if oauth.http_method == "GET":
        query = fields | query
    else:
        body = urlencode(fields).encode()
        headers["Content-Type"] = FORM
    endpoint = parse_endpoint(oauth.authorization_endpoint)
    if query:
        separator = "&" if "?" in endpoint.target else "?"
        endpoint = endpoint._replace(target=f"{endpoint.target}{separator}{urlencode(query, quote_via=quote)}")
    return endpoint, headers, body


def read_token(response: Response) -> tuple[str, float]:
    """Returns the token and the seconds until its end. Raises TokenRefusedError."""
    if not 200 <= response.status < 300:
        code = "INVOCATION_DEPENDENCY_INTERNAL" if response.status >= 500 else "ACCESS_DENIED"
        raise TokenRefusedError(Refusal(code, f"The authorization endpoint has answered {response.status}."))
    try:
        document = msgspec.convert(decode_json(response.start or b""), _TokenResponse, strict=False)
    except (msgspec.ValidationError, ValueError, RecursionError):
        document = _TokenResponse("")
    if not document.access_token or not is_header_value(document.access_token):
        raise TokenRefusedError(Refusal("ACCESS_DENIED", "The response of the authorization endpoint has no token."))
    seconds = DEFAULT_SECONDS if document.expires_in is None else document.expires_in
    return document.access_token, seconds


class _TokenResponse(msgspec.Struct):
    """RFC 6749, section 5.1."""

    access_token: str
    expires_in: float | None = None
