"""An account of a test server, which is all that a test sees of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boto3.session import Session
    from botocore.client import BaseClient

REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Account:
    """An account that no other test has. Queues and topics of other accounts are in none of its lists."""

    endpoint_url: str
    account_id: str
    region_name: str = REGION

    @property
    def access_key_id(self) -> str:
        """The account itself: a test server takes 12 digits for the caller's account, and any secret."""
        return self.account_id

    @property
    def secret_access_key(self) -> str:
        """Any will do."""
        return "test"

    @property
    def environment(self) -> dict[str, str]:
        """What SDKs and the AWS command line read: the endpoint, the credentials and the region."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_DEFAULT_REGION": self.region_name,
            "AWS_REGION": self.region_name,
        }

    def client(self, service: str, **options: object) -> BaseClient:
        """A client of boto3 for `sqs`, `sns`, `scheduler` or `sts`; `options` are those of `Session.client`."""
        return _make_session().client(
            service,
            endpoint_url=self.endpoint_url,
            region_name=self.region_name,
            aws_access_key_id=self.access_key_id,
            aws_secret_access_key=self.secret_access_key,
            **options,
        )


@cache
def _make_session() -> Session:
    """One for all tests of the process: the models of services are read once."""
    import boto3.session  # noqa: PLC0415 - pytest loads this module in every project

    return boto3.session.Session()
