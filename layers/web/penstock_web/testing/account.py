"""Defines an account of a test server. Each test has a separate account."""

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
    """An account that only one test uses. Requests with this account do not see queues and topics of other accounts."""

    endpoint_url: str
    account_id: str
    region_name: str = REGION

    @property
    def access_key_id(self) -> str:
        """Returns the account id. The test server treats an access key id of 12 digits as the caller's account."""
        return self.account_id

    @property
    def secret_access_key(self) -> str:
        """Returns a constant, because the server accepts any secret."""
        return "test"

    @property
    def environment(self) -> dict[str, str]:
        """Returns environment variables for SDKs and the AWS command line: endpoint, credentials and region."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_DEFAULT_REGION": self.region_name,
            "AWS_REGION": self.region_name,
        }

    def client(self, service: str, **options: object) -> BaseClient:
        """Returns a boto3 client for `sqs`, `sns`, `scheduler` or `sts`. `options` are arguments of
        `Session.client`."""
        return _build_session().client(
            service,
            endpoint_url=self.endpoint_url,
            region_name=self.region_name,
            aws_access_key_id=self.access_key_id,
            aws_secret_access_key=self.secret_access_key,
            **options,
        )


@cache
def _build_session() -> Session:
    """Returns a session that all tests of the process share, so that boto3 reads its service models only once."""
    import boto3.session  # noqa: PLC0415 - pytest loads this module in every project

    return boto3.session.Session()
