"""Tokens of AWS IAM in place of a password, for RDS for PostgreSQL and RDS Proxy (QUEUE_DATABASE_AUTH=iam).

Settings put IAM_TOKEN where an address has its password; whoever opens a connection replaces it here. A token is a
signature of host, port, user and time by the process's credentials of AWS. It is made without a request, once these
are there, and good for 15 minutes, so each new connection makes its own; one that is open goes on after that. It is
sent as it is: without a certificate that is verified, whoever leads the connection elsewhere could use it.

Sources: "IAM database authentication for MariaDB, MySQL, and PostgreSQL" and "Connecting to your DB instance using IAM
authentication", Amazon RDS User Guide; `generate_db_auth_token` of boto3's client of RDS.
"""

from collections.abc import Mapping
from functools import cache
from typing import Protocol, TypeVar, cast

from penstock.settings import IAM_TOKEN, SettingError

from .address import list_hosts

V = TypeVar("V")


class TokenClient(Protocol):
    """The part of boto3's client of RDS that is used."""

    def generate_db_auth_token(self, *, DBHostname: str, Port: int, DBUsername: str) -> str: ...  # noqa: N803


class TokenError(Exception):
    """No token could be made, for want of credentials or of a region; the text says why."""


def with_token(parameters: dict[str, V]) -> dict[str, V]:
    """The parameters of an address, by libpq's names, with a token where IAM_TOKEN stands for the password.

    Raises TokenError, and SettingError for an address with which a token cannot be used.
    """
    if not needs_token(parameters):
        return parameters
    if parameters.get("sslmode") != "verify-full":
        raise SettingError("QUEUE_DATABASE_AUTH=iam needs sslmode=verify-full in DATABASE_URL")
    hosts = list_hosts({name: str(value) for name, value in parameters.items() if name != "hostaddr"})
    if len(hosts) != 1 or not parameters.get("user"):
        raise SettingError("QUEUE_DATABASE_AUTH=iam needs one host and a user in DATABASE_URL")
    ((host, port),) = hosts
    return {**parameters, "password": cast("V", new_token(host, port, str(parameters["user"])))}


def needs_token(parameters: Mapping[str, object]) -> bool:
    """Whether these are of an address whose password is a token."""
    return parameters.get("password") == IAM_TOKEN


def new_token(host: str, port: int, user: str) -> str:
    """A token for this user of the database. `host`: the endpoint's own name. Raises TokenError."""
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - few use it

    try:
        return _client().generate_db_auth_token(DBHostname=host, Port=port, DBUsername=user)
    except BotoCoreError as error:
        raise TokenError(f"no token of IAM: {error}") from error


@cache
def _client() -> TokenClient:
    """boto3's client of RDS, which sends no request for a token. Its credentials renew themselves."""
    import boto3  # noqa: PLC0415 - a part of Lambda's runtime; the service has it for `penstock demo`

    client: TokenClient = boto3.Session().client("rds")
    return client
