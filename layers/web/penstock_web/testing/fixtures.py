"""Defines the fixtures of the pytest plugin. pytest finds the plugin through the wheel's entry point `pytest11`."""

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
    """Returns the test server. All test processes of a user on this machine share the server.

    The server stops when the last test process ends.
    """
    with closing(find_server()) as server:
        yield server


@pytest.fixture
def penstock(request: pytest.FixtureRequest, penstock_server: TestServer) -> Account:
    """Returns a new account for the test. The account contains the endpoint and credentials, and creates boto3
    clients.
    """
    if "penstock_clock" in request.fixturenames:
        clock: Clock = request.getfixturevalue("penstock_clock")
        return clock.account
    return penstock_server.account()


@pytest.fixture
def penstock_clock(penstock_server: TestServer) -> Iterator[Clock]:
    """Returns a clock that the test can move forward. The clock belongs to a separate service, which the test's other
    fixtures then also use.
    """
    with Clock.running(penstock_server) as clock:
        yield clock


@pytest.fixture
def penstock_environment(penstock: Account, monkeypatch: pytest.MonkeyPatch) -> Account:
    """Returns the fixture `penstock`, and sets environment variables for SDKs. `boto3.client("sqs")` then works without
    arguments.
    """
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
