"""Checks the configurations of webhook event sources, and creates, checks and encrypts their credentials.

Sources: botocore's model `eventbridgev2` (1.44.8), and "Securing a webhook event source" (Amazon EventBridge User
Guide, https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus-webhook-auth.html). AWS documents no list
of reserved headers, so the lists are our choice. AWS stores credentials in Secrets Manager. Penstock stores them in the
database, encrypted with QUEUE_ENCRYPTION_KEY.
"""

import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from hashlib import sha256
from secrets import token_bytes, token_urlsafe
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from penstock.access.secret_encryption import DecryptionError, SecretCipher, read_key
from penstock.aws.arn import read_account
from penstock.context import Context
from penstock.errors import KMS_KEYS_REFUSED, InternalFailure

from .errors import InvalidInputException
from .shapes import (
    LogConfiguration,
    WebhookAuthConfiguration,
    WebhookBasicHttpAuthConfiguration,
    WebhookCredential,
    WebhookEventsSourceConfiguration,
    WebhookHmacAuthConfiguration,
    WebhookStaticTokenAuthConfiguration,
)

KEY_BYTES: Final = (16, 512)
"""The least and the most bytes of an HMAC key."""
TOLERANCE_SECONDS: Final = 300
BASE64: Final = "BASE64"
NO_KEY: Final = "A webhook event source needs the setting QUEUE_ENCRYPTION_KEY, which encrypts its secret."
KINDS: Final = ("static_token_auth_configuration", "basic_http_auth_configuration", "hmac_auth_configuration")
CREDENTIALS: Final = dict(zip(KINDS, ("static_token_secret_value", "basic_http_password", "hmac_secret_value")))  # noqa: B905
_RESERVED: Final = frozenset((
    "connection", "content-encoding", "content-length", "expect", "forwarded", "host", "keep-alive", "te", "trailer",
    "transfer-encoding", "upgrade", "via", "x-real-ip",
))  # fmt: skip
_RESERVED_PREFIXES: Final = ("proxy-", "x-forwarded-", "x-amzn-")
_CREDENTIAL_HEADERS: Final = frozenset(("authorization", "cookie", "x-amz-security-token", "x-api-key"))
_IS_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?").fullmatch

Auth = WebhookStaticTokenAuthConfiguration | WebhookBasicHttpAuthConfiguration | WebhookHmacAuthConfiguration


class CheckedWebhook(NamedTuple):
    """A configuration without secrets, as Penstock stores it, and the credential that the request contains or
    None."""

    configuration: WebhookEventsSourceConfiguration
    credential: str | None


# --- configurations --------------------------------------------------------------------------------------------------
def check_webhook(given: WebhookEventsSourceConfiguration, context: Context) -> CheckedWebhook:
    """Returns the configuration with its defaults. Raises InvalidInputException."""
    auth = find_auth(given.auth_configuration)
    if read_account(given.role_arn) != context.account_id:
        raise InvalidInputException(f"RoleArn must be a role of the account {context.account_id}.")
    if given.kms_key_identifier and context.environment.settings.queue_refuse_kms:
        raise InvalidInputException(KMS_KEYS_REFUSED)
    _check_metadata_headers(given.metadata_http_headers or [], auth)
    if isinstance(auth, WebhookHmacAuthConfiguration):
        _check_composition(auth)
        auth = replace(auth, secret_encoding=auth.secret_encoding or "RAW")
        if auth.timestamp_http_header is not None and auth.timestamp_tolerance_in_seconds is None:
            auth = replace(auth, timestamp_tolerance_in_seconds=TOLERANCE_SECONDS)
    log = given.log_configuration
    if log is not None:
        log = LogConfiguration(log.level or "OFF", log.include_payload or "ON_ERROR_ONLY")
    checked = replace(
        given,
        auth_configuration=_without_secrets(auth),
        kms_key_identifier=given.kms_key_identifier or None,
        metadata_http_headers=given.metadata_http_headers or None,
        log_configuration=log,
    )
    return CheckedWebhook(checked, _read_credential(auth))


def find_auth(given: WebhookAuthConfiguration) -> Auth:
    """Returns the kind of authentication. Raises InvalidInputException unless exactly one kind is given."""
    found: list[Auth] = [auth for name in KINDS if (auth := getattr(given, name)) is not None]
    if len(found) != 1:
        raise InvalidInputException("AuthConfiguration must contain exactly one kind of authentication.")
    (auth,) = found
    for name in ("token_http_header", "signature_http_header", "timestamp_http_header", "message_id_http_header"):
        header: str | None = getattr(auth, name, None)
        if header is not None and _is_reserved(header):
            raise InvalidInputException(f"The header {header} is reserved, so it cannot authenticate a webhook.")
    return auth


def check_same_kind(old: WebhookEventsSourceConfiguration, checked: CheckedWebhook) -> None:
    """Raises InvalidInputException if an update changes the kind of authentication, the encoding of the secret, or the
    secret, which only RotateWebhookCredentials changes."""
    if checked.credential is not None:
        raise InvalidInputException("UpdateEventSource does not change credentials. Use RotateWebhookCredentials.")
    before, after = find_auth(old.auth_configuration), find_auth(checked.configuration.auth_configuration)
    encodings = [getattr(auth, "secret_encoding", None) for auth in (before, after)]
    if type(before) is not type(after) or encodings[0] != encodings[1]:
        raise InvalidInputException("The kind of authentication and the SecretEncoding of a webhook cannot change.")


def _is_reserved(header: str) -> bool:
    return header.lower() in _RESERVED or header.lower().startswith(_RESERVED_PREFIXES)


def _check_metadata_headers(headers: list[str], auth: Auth) -> None:
    names = [header.lower() for header in headers]
    if len(set(names)) < len(names):
        raise InvalidInputException("MetadataHttpHeaders cannot contain a header twice.")
    token = (getattr(auth, "token_http_header", None) or "").lower()
    for name in names:
        if name == token or name in _CREDENTIAL_HEADERS or _is_reserved(name):
            raise InvalidInputException(f"MetadataHttpHeaders cannot contain {name}.")


def _check_composition(auth: WebhookHmacAuthConfiguration) -> None:
    """Raises InvalidInputException for headers that do not belong to the signed message."""
    composition, timestamp = auth.signed_message_composition, auth.timestamp_http_header
    if composition == "BODY":
        if timestamp is not None or auth.timestamp_tolerance_in_seconds is not None:
            raise InvalidInputException("TimestampHttpHeader and its tolerance need a signed timestamp, unlike BODY.")
    elif timestamp is None:
        raise InvalidInputException(f"TimestampHttpHeader is required for {composition}.")
    if composition == "MESSAGE_ID_DOT_TIMESTAMP_DOT_BODY" and auth.message_id_http_header is None:
        raise InvalidInputException(f"MessageIdHttpHeader is required for {composition}.")
    is_shared = timestamp is not None and timestamp.lower() == auth.signature_http_header.lower()
    if is_shared and None in (auth.delimiter, auth.signature_prefix, auth.timestamp_prefix):
        raise InvalidInputException(
            "Delimiter, SignaturePrefix and TimestampPrefix are required if one header has signature and timestamp."
        )


# --- credentials -----------------------------------------------------------------------------------------------------
# A stored credential is the token, the user name and the password with a colon between them, or the HMAC key in its
# encoding.
def _read_credential(auth: Auth) -> str | None:
    """Returns the credential of a request, or None. Raises InvalidInputException for an invalid credential."""
    if isinstance(auth, WebhookBasicHttpAuthConfiguration):
        if (auth.username is None) != (auth.password is None):
            raise InvalidInputException("Username and Password must both be given, or neither of them.")
        return None if auth.username is None else f"{auth.username}:{auth.password}"
    if auth.secret_value is not None:
        check_credential(auth, auth.secret_value)
    return auth.secret_value


def _without_secrets(auth: Auth) -> WebhookAuthConfiguration:
    if isinstance(auth, WebhookStaticTokenAuthConfiguration):
        return WebhookAuthConfiguration(static_token_auth_configuration=replace(auth, secret_value=None))
    if isinstance(auth, WebhookBasicHttpAuthConfiguration):
        return WebhookAuthConfiguration(basic_http_auth_configuration=WebhookBasicHttpAuthConfiguration())
    return WebhookAuthConfiguration(hmac_auth_configuration=replace(auth, secret_value=None))


def check_credential(auth: Auth, secret: str) -> None:
    """Raises InvalidInputException for a secret that no request could contain or that cannot sign."""
    if isinstance(auth, WebhookHmacAuthConfiguration):
        decode_signing_key(auth, secret)
    elif isinstance(auth, WebhookStaticTokenAuthConfiguration) and not _IS_HEADER_VALUE(secret):
        raise InvalidInputException("A token must be printable ASCII, and can neither begin nor end with a blank.")


def decode_signing_key(auth: WebhookHmacAuthConfiguration, secret: str) -> bytes:
    """Returns the bytes of an HMAC key. Raises InvalidInputException."""
    key = secret.encode()
    if auth.secret_encoding == BASE64:
        try:
            key = b64decode(secret.removeprefix("whsec_"), validate=True)
        except (Base64Error, ValueError):
            raise InvalidInputException("The secret must be base64, because SecretEncoding is BASE64.") from None
    least, most = KEY_BYTES
    if not least <= len(key) <= most:
        raise InvalidInputException(f"The key must have {least} to {most} bytes.")
    return key


def build_credential(auth: Auth, user_name: str | None = None) -> str:
    """Returns a new random credential with 256 bits. `user_name` is the user name to keep."""
    if isinstance(auth, WebhookBasicHttpAuthConfiguration):
        return f"{user_name or 'webhook-' + token_urlsafe(9)}:{token_urlsafe(32)}"
    if isinstance(auth, WebhookHmacAuthConfiguration) and auth.secret_encoding == BASE64:
        return f"whsec_{b64encode(token_bytes(32)).decode()}"
    return token_urlsafe(32)


def choose_rotated(auth: Auth, given: WebhookCredential | None, user_name: str | None) -> str:
    """Returns the new credential of a rotation: the given one, or a random one. Raises InvalidInputException for a
    credential of another kind of authentication."""
    kind = next(name for name in KINDS if getattr(_without_secrets(auth), name) is not None)
    values = {} if given is None else {name: value for name in CREDENTIALS.values() if (value := getattr(given, name))}
    if given is None:
        return build_credential(auth, user_name)
    if list(values) != [CREDENTIALS[kind]]:
        raise InvalidInputException("Credential must have the one member of the webhook's kind of authentication.")
    (secret,) = values.values()
    check_credential(auth, secret)
    return secret if user_name is None else f"{user_name}:{secret}"


# --- encryption ------------------------------------------------------------------------------------------------------
def read_encryption_key(context: Context) -> str:
    """Returns QUEUE_ENCRYPTION_KEY. Raises InvalidInputException if the setting is missing."""
    key = context.environment.settings.queue_encryption_key
    if not key:
        raise InvalidInputException(NO_KEY)
    return key


def encrypt(credential: str, arn: str, context: Context) -> bytes:
    return SecretCipher(read_encryption_key(context)).encrypt(credential, arn, read_account(arn))


def decrypt(encrypted: bytes, arn: str, context: Context) -> str:
    """Raises InternalFailure if QUEUE_ENCRYPTION_KEY is missing or is another key than at the encryption."""
    try:
        return SecretCipher(context.environment.settings.queue_encryption_key).decrypt(
            bytes(encrypted), arn, read_account(arn)
        )
    except (DecryptionError, ValueError) as error:
        raise InternalFailure from error


def hash_request(request: Struct, context: Context) -> str:
    """Returns a hash of a request without its token, by which a repeated request is recognised. The hash needs
    QUEUE_ENCRYPTION_KEY, because the request can contain a short secret."""
    text = msgspec.json.encode(replace(request, client_token=None), order="deterministic")
    return hmac.new(read_key(read_encryption_key(context)), text, sha256).hexdigest()[:32]
