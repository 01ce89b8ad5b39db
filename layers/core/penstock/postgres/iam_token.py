"""Uses AWS IAM tokens as passwords, for RDS for PostgreSQL and RDS Proxy (QUEUE_DATABASE_AUTH=iam).

The settings put IAM_TOKEN in place of the address's password. This module replaces IAM_TOKEN for each new connection.
A token contains host, port, user and time, signed with the process's AWS credentials. A token is valid for 15 minutes,
and boto3 creates a token without a request. Open connections stay open after the 15 minutes. The token is not encrypted
inside TLS, so the client must verify the server's certificate. Without verification, an attacker who redirects the
connection could use the token.

Sources: "IAM database authentication for MariaDB, MySQL, and PostgreSQL" and "Connecting to your DB instance using IAM
authentication", Amazon RDS User Guide; `generate_db_auth_token` of boto3's RDS client.
"""

from collections.abc import Mapping
from functools import cache
from typing import Protocol, TypeVar, cast

from penstock.settings import IAM_TOKEN, SettingError

from .address import list_hosts

V = TypeVar("V")


class TokenClient(Protocol):
    """The part of boto3's RDS client that this module uses."""

    def generate_db_auth_token(self, *, DBHostname: str, Port: int, DBUsername: str) -> str: ...  # noqa: N803


class TokenError(Exception):
    """No token could be created, because credentials or a region are missing. The text says which."""


def add_token(parameters: dict[str, V]) -> dict[str, V]:
    """Returns an address's parameters, by libpq's names, with a token in place of IAM_TOKEN.

    Raises TokenError, and SettingError for an address that does not work with a token.
    """
    if not needs_token(parameters):
        return parameters
    if parameters.get("sslmode") != "verify-full":
        raise SettingError("QUEUE_DATABASE_AUTH=iam needs sslmode=verify-full in DATABASE_URL")
    hosts = list_hosts({name: str(value) for name, value in parameters.items() if name != "hostaddr"})
    if len(hosts) != 1 or not parameters.get("user"):
        raise SettingError("QUEUE_DATABASE_AUTH=iam needs one host and a user in DATABASE_URL")
    ((host, port),) = hosts
    return {**parameters, "password": cast("V", build_token(host, port, str(parameters["user"])))}


def needs_token(parameters: Mapping[str, object]) -> bool:
    """Returns whether this address needs a token as its password."""
    return parameters.get("password") == IAM_TOKEN


def build_token(host: str, port: int, user: str) -> str:
    """Returns a token for this database user. `host` is the endpoint's real name. Raises TokenError."""
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - few use it

    try:
        return _build_client().generate_db_auth_token(DBHostname=host, Port=port, DBUsername=user)
    except BotoCoreError as error:
        raise TokenError(f"no IAM token: {error}") from error


@cache
def _build_client() -> TokenClient:
    """Returns boto3's RDS client, which renews its credentials itself and sends no request for a token."""
    import boto3  # noqa: PLC0415 - a part of Lambda's runtime; the service has it for `penstock demo`

    client: TokenClient = boto3.Session().client("rds")
    return client
