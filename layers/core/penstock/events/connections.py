"""The authorization of requests to API destinations, by AWS's names, and its encryption.

The limits are those of the model of CreateConnection (EventBridge API Reference). A name or a value of a header is
checked more strictly, so that no value can end its line.
"""

import re
from collections.abc import Callable
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from penstock.access.secret_encryption import SecretCipher
from penstock.postgres.statement import JsonObject

AuthorizationType = Literal["BASIC", "API_KEY", "OAUTH_CLIENT_CREDENTIALS"]
AuthText = Annotated[str, Meta(min_length=1, max_length=512)]
MAX_PARAMETERS: Final = 100
is_header_name: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-zA-Z-]{1,512}").fullmatch
"""Matches a token, the name of a header (RFC 9110, section 5.1)."""
is_header_value: Final = re.compile(r"[\t\x20-\x7e]*").fullmatch
_is_credential: Final = re.compile(r"[^\x00-\x08\x0a-\x1f:\x7f]+").fullmatch
_is_query_key: Final = re.compile(r"[^\x00-\x1f\x7f]+").fullmatch
_is_query_value: Final = re.compile(r"[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f]*").fullmatch
FIXED_HEADERS: Final = frozenset((
    "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via",
))  # fmt: skip
"""The headers that the worker sets or never sends. They frame a message or belong to the connection (RFC 9110, section
7.6.1)."""
SECRETS: Final = frozenset(("Password", "ApiKeyValue", "ClientSecret"))


class _Part(Struct, rename="pascal", forbid_unknown_fields=True, omit_defaults=True):
    """Base class of the parts of AuthParameters."""


class HttpParameter(_Part):
    """A header, a parameter of the query string, or a member of the body. The API does not show a secret value."""

    key: Annotated[str, Meta(min_length=1, max_length=512)]
    value: Annotated[str, Meta(max_length=512)]
    is_value_secret: bool = False


HttpParameters = Annotated[list[HttpParameter], Meta(max_length=MAX_PARAMETERS)]


class ConnectionHttpParameters(_Part):
    """Further parameters of a request."""

    header_parameters: HttpParameters = []
    query_string_parameters: HttpParameters = []
    body_parameters: HttpParameters = []

    def __post_init__(self) -> None:
        """Raises ValueError for a character that has no place in a header or a query string."""
        for each in self.header_parameters:
            _require(is_header_name(each.key) and is_header_value(each.value), "HeaderParameters")
        for each in self.query_string_parameters:
            _require(_is_query_key(each.key) and _is_query_value(each.value), "QueryStringParameters")


class BasicCredentials(_Part):
    username: AuthText
    password: AuthText

    def __post_init__(self) -> None:
        """Raises ValueError for a colon or a control character."""
        _require(_is_credential(self.username), "Username")
        _require(_is_credential(self.password), "Password")


class ApiKeyCredentials(_Part):
    api_key_name: AuthText
    api_key_value: AuthText

    def __post_init__(self) -> None:
        """Raises ValueError for a text that cannot be a header, and for FIXED_HEADERS."""
        _require(is_header_name(self.api_key_name), "ApiKeyName")
        if self.api_key_name.lower() in FIXED_HEADERS:
            raise ValueError("ApiKeyName cannot be a header that belongs to the connection")
        _require(_is_credential(self.api_key_value) and is_header_value(self.api_key_value), "ApiKeyValue")


class OAuthClient(_Part):
    client_id: AuthText = field(name="ClientID")
    client_secret: AuthText = field(name="ClientSecret")

    def __post_init__(self) -> None:
        """Raises ValueError for a colon or a control character."""
        _require(_is_credential(self.client_id), "ClientID")
        _require(_is_credential(self.client_secret), "ClientSecret")


class OAuthGrant(_Part):
    """How to get a token at `authorization_endpoint`."""

    client_parameters: OAuthClient
    authorization_endpoint: Annotated[str, Meta(min_length=1, max_length=2_048)]
    http_method: Literal["GET", "POST", "PUT"]
    http_parameters: ConnectionHttpParameters | None = field(name="OAuthHttpParameters", default=None)


class AuthParameters(_Part):
    """The credentials of one authorization type, and parameters of every request to an API destination."""

    basic: BasicCredentials | None = field(name="BasicAuthParameters", default=None)
    api_key: ApiKeyCredentials | None = field(name="ApiKeyAuthParameters", default=None)
    oauth: OAuthGrant | None = field(name="OAuthParameters", default=None)
    invocation: ConnectionHttpParameters | None = field(name="InvocationHttpParameters", default=None)

    @property
    def authorization_types(self) -> list[AuthorizationType]:
        """Returns the types whose credentials are given. A connection has one."""
        found: list[tuple[AuthorizationType, object]] = [
            ("BASIC", self.basic),
            ("API_KEY", self.api_key),
            ("OAUTH_CLIENT_CREDENTIALS", self.oauth),
        ]
        return [kind for kind, part in found if part is not None]


def _require(holds: object, name: str) -> None:
    if not holds:
        raise ValueError(f"{name} has a character that is not allowed")


def hide_secrets(parameters: AuthParameters) -> JsonObject:
    """Returns the parameters without secrets, by AWS's names."""
    shown = _hide(msgspec.to_builtins(parameters))
    return shown if isinstance(shown, dict) else {}


def _hide(value: object) -> object:
    if isinstance(value, list):
        return [_hide(each) for each in value]
    if not isinstance(value, dict):
        return value
    hidden = SECRETS | {"Value"} if value.get("IsValueSecret") else SECRETS
    return {name: _hide(each) for name, each in value.items() if name not in hidden}


class ParameterCipher:
    """Encrypts AuthParameters as secrets of access keys are encrypted. The tag also authenticates the connection."""

    def __init__(self, encryption_key: str) -> None:
        """Raises SettingError if the key has another form."""
        self._cipher = SecretCipher(encryption_key)
        self._decode: Callable[[str], AuthParameters] = msgspec.json.Decoder(AuthParameters).decode

    def seal(self, parameters: AuthParameters, arn: str, account_id: str) -> bytes:
        return self._cipher.encrypt(msgspec.json.encode(parameters).decode(), arn, account_id)

    def open(self, sealed: bytes, arn: str, account_id: str) -> AuthParameters:
        """Raises DecryptionError."""
        return self._decode(self._cipher.decrypt(sealed, arn, account_id))
