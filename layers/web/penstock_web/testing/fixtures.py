"""The pytest plugin with its fixtures. pytest loads it through the entry point `pytest11` of the wheel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from .account import Account
from .clock import Clock
from .servers import TestServer, find_server

if TYPE_CHECKING:
    from botocore.client import BaseClient


@pytest.fixture(scope="session")
def penstock_server() -> Iterator[TestServer]:
    """Returns this machine's test server, which all test processes of a user share.

    The server stops when the last process ends.
    """
    with closing(find_server()) as server:
        yield server


@pytest.fixture
def penstock(request: pytest.FixtureRequest, penstock_server: TestServer) -> Account:
    """Returns a separate account for the test, with endpoint_url, credentials, `client("sqs")` and `environment`."""
    if "penstock_clock" in request.fixturenames:
        clock: Clock = request.getfixturevalue("penstock_clock")
        return clock.account
    return penstock_server.account()


@pytest.fixture
def penstock_clock(penstock_server: TestServer) -> Iterator[Clock]:
    """Returns a clock that the test moves. The clock has a separate server, which the test's other fixtures also
    use."""
    with Clock.running(penstock_server) as clock:
        yield clock


@pytest.fixture
def penstock_environment(penstock: Account, monkeypatch: pytest.MonkeyPatch) -> Account:
    """Returns `penstock`, and sets the environment for SDKs: `boto3.client("sqs")` then needs no argument."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_SNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in penstock.environment.items():
        monkeypatch.setenv(name, value)
    return penstock


@pytest.fixture
def sqs(penstock: Account) -> Iterator[BaseClient]:
    """Returns a boto3 client for SQS in the test's account."""
    with closing(penstock.client("sqs")) as client:
        yield client


@pytest.fixture
def sns(penstock: Account) -> Iterator[BaseClient]:
    """Returns a boto3 client for SNS in the test's account."""
    with closing(penstock.client("sns")) as client:
        yield client


@pytest.fixture
def sqs_queue(sqs: BaseClient) -> str:
    """Returns the URL of a new standard queue in the test's account."""
    return str(sqs.create_queue(QueueName="queue")["QueueUrl"])
