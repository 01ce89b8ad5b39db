"""Reads a function's settings from a secret of AWS Secrets Manager.

The secret is a JSON object that can contain every setting: {"DATABASE_URL": "postgresql://…", "QUOTA_QUEUES": "1000"}.
A function reads the secret when it starts, and again when the database refuses a connection, because the password may
have changed. A rotation therefore needs no deployment, and other requests do not wait for the secret.

This module signs and sends the request itself, because importing boto3 takes more CPU time than all other imports of a
function. Sources: "GetSecretValue" (AWS Secrets Manager API Reference), "Create a signed AWS API request" (IAM User
Guide), "Defined runtime environment variables" (AWS Lambda Developer Guide: the credentials), "Service-specific
endpoints" (AWS SDKs and Tools Reference Guide: AWS_ENDPOINT_URL_SECRETS_MANAGER).
"""

import hmac
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from time import monotonic
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from penstock.errors import ServiceUnavailable
from penstock.settings import SETTINGS, SettingError

SECONDS_BETWEEN_READS: Final = 5.0
"""The minimum time between two reads. Without a minimum time, each request would read the secret while the database is
down."""
_TIMEOUT_SECONDS: Final = 2
"""The time limit for the connection, and for the response. Two attempts take less than 10 seconds, which is Lambda's
limit for the start of a function."""
_TARGET: Final = "secretsmanager.GetSecretValue"
_DOMAINS: Final = {"cn-": "amazonaws.com.cn", "eusc-": "amazonaws.eu"}
"""AWS's domain for each prefix of a region's name. The domain of all other regions is amazonaws.com."""


class SecretError(Exception):
    """Secrets Manager refused the request, or sent a malformed response. The error's text shows no part of the
    secret."""


class Credentials(NamedTuple):
    """Credentials of the function's role. `token` is empty if the credentials belong to a user."""

    key_id: str
    secret: str
    token: str


class _Response(msgspec.Struct):
    secret_string: str | None = msgspec.field(default=None, name="SecretString")


class _Refusal(msgspec.Struct):
    kind: str = msgspec.field(default="", name="__type")


class Secret:
    def __init__(self, name: str) -> None:
        self._name = name
        self._read_at = 0.0

    def read(self) -> dict[str, str]:
        """Returns the secret's non-empty settings. Raises ServiceUnavailable, and SettingError for an unknown name."""
        self._read_at = monotonic()
        try:
            text = fetch_secret(self._name, os.environ)
        except (OSError, SecretError) as error:
            raise ServiceUnavailable from error
        try:
            return check_members(msgspec.json.decode(text or ""))
        except msgspec.DecodeError:
            return check_members(None)

    def may_be_read(self) -> bool:
        """Returns whether enough time has passed since the last read."""
        return monotonic() - self._read_at > SECONDS_BETWEEN_READS


def check_members(members: object) -> dict[str, str]:
    """Returns the secret's non-empty settings. Every member must be a text and have a setting's name.

    Raises SettingError, whose text does not show the values.
    """
    if not isinstance(members, dict) or not all(isinstance(value, str) for value in members.values()):
        raise SettingError("QUEUE_SECRET must name a secret that is a JSON object with texts")
    if unknown := members.keys() - {setting.name for setting in SETTINGS}:
        raise SettingError(f"the secret of QUEUE_SECRET has {', '.join(sorted(unknown))}, which are not settings")
    return {name: value for name, value in members.items() if value}


# --- the request -----------------------------------------------------------------------------------------------------
def fetch_secret(name: str, variables: Mapping[str, str]) -> str | None:
    """Returns the text of a secret, or None if the secret is binary. Raises SecretError and OSError.

    `variables` are the environment variables, which contain the region, the credentials and the endpoint.
    """
    region = find_region(name, variables)
    url = find_endpoint(region, variables)
    body = msgspec.json.encode({"SecretId": name})
    for is_last in (False, True):
        headers = sign_request(url, region, body, find_credentials(variables), datetime.now(UTC))
        try:
            status, response = send_request(url, body, headers)
        except OSError:
            if is_last:
                raise
            continue
        if status == 200:
            return _decode_response(response)
        kind = _read_kind(response)
        if is_last or (status < 500 and "Throttling" not in kind):
            raise SecretError(f"Secrets Manager responds with {status} {kind}".rstrip())
    raise AssertionError  # the last attempt returns or raises


def find_region(name: str, variables: Mapping[str, str]) -> str:
    """Returns the region in the secret's ARN, or otherwise the function's region. Raises SecretError."""
    parts = name.split(":")
    region = parts[3] if parts[0] == "arn" and len(parts) > 6 else ""
    region = region or variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION") or ""
    if not region:
        raise SecretError("AWS_REGION is not set")
    return region


def find_endpoint(region: str, variables: Mapping[str, str]) -> str:
    """Returns the URL in the environment, or otherwise the region's URL of Secrets Manager."""
    given = variables.get("AWS_ENDPOINT_URL_SECRETS_MANAGER") or variables.get("AWS_ENDPOINT_URL")
    domain = next((each for start, each in _DOMAINS.items() if region.startswith(start)), "amazonaws.com")
    return given or f"https://secretsmanager.{region}.{domain}"


def find_credentials(variables: Mapping[str, str]) -> Credentials:
    """Returns the credentials in the environment, or otherwise the credentials that botocore finds. Raises SecretError.

    Lambda sets the variables of the credentials, except for functions with SnapStart.
    """
    if key_id := variables.get("AWS_ACCESS_KEY_ID"):
        secret, token = variables.get("AWS_SECRET_ACCESS_KEY", ""), variables.get("AWS_SESSION_TOKEN", "")
        return Credentials(key_id, secret, token)
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - its import takes longer than all others
    from botocore.session import get_session  # noqa: PLC0415

    try:
        found = get_session().get_credentials()
        if found is None:
            raise SecretError("the function has no AWS credentials")
        frozen = found.get_frozen_credentials()
    except BotoCoreError as error:
        raise SecretError(f"no AWS credentials: {error}") from error
    return Credentials(frozen.access_key, frozen.secret_key, frozen.token or "")


def sign_request(url: str, region: str, body: bytes, credentials: Credentials, now: datetime) -> dict[str, str]:
    """Returns the headers of a request to Secrets Manager, with Signature Version 4."""
    timestamp = f"{now:%Y%m%dT%H%M%SZ}"
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "host": urlsplit(url).netloc,
        "x-amz-date": timestamp,
        "x-amz-target": _TARGET,
    }
    if credentials.token:
        headers["x-amz-security-token"] = credentials.token
    names = sorted(headers)
    listed = "".join(f"{name}:{headers[name]}\n" for name in names)
    canonical = f"POST\n/\n\n{listed}\n{';'.join(names)}\n{sha256(body).hexdigest()}"
    scope = (timestamp[:8], region, "secretsmanager", "aws4_request")
    text = f"AWS4-HMAC-SHA256\n{timestamp}\n{'/'.join(scope)}\n{sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{credentials.secret}".encode()
    for part in (*scope, text):
        key = hmac.digest(key, part.encode(), "sha256")
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.key_id}/{'/'.join(scope)}, "
        f"SignedHeaders={';'.join(names)}, Signature={key.hex()}"
    )
    return headers


def send_request(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Returns the response's status and body. Raises OSError."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # noqa: PLC0415 - only with a secret

    endpoint = urlsplit(url)
    kind = HTTPSConnection if endpoint.scheme == "https" else HTTPConnection
    connection = kind(endpoint.netloc, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("POST", "/", body, dict(headers))
        response = connection.getresponse()
        return response.status, response.read()
    except HTTPException as error:
        raise OSError(f"Secrets Manager: {error!r}") from error
    finally:
        connection.close()


def _decode_response(response: bytes) -> str | None:
    try:
        return msgspec.json.decode(response, type=_Response).secret_string
    except msgspec.DecodeError:
        raise SecretError("the response of Secrets Manager is not JSON") from None


def _read_kind(response: bytes) -> str:
    """Returns the name of the error in a response, such as AccessDeniedException."""
    try:
        return msgspec.json.decode(response, type=_Refusal).kind.rpartition("#")[2]
    except msgspec.DecodeError:
        return ""
