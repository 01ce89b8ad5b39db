"""Provides fixtures for tests of functions."""

from collections.abc import Iterator
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config

from penstock.settings import DRIVERS
from tests.support import client_setup
from tests.support.database import Database, TestServer
from tests.support.functions.server import Functions, FunctionServer
from tests.support.local_lambda.events import EventForm


@pytest.fixture
def functions(database: Database) -> Iterator[Functions]:
    """Runs the functions on a new database, through PgBouncer."""
    with Functions(database.pooled_dsn) as functions:
        yield functions


@pytest.fixture(scope="module", params=DRIVERS)
def deployment(postgres: TestServer, form: EventForm, request: pytest.FixtureRequest) -> Iterator[FunctionServer]:
    """Yields an endpoint that sends requests to the functions as events in the module's `form`. The functions use
    either database driver. A module's tests share the deployments and their databases, but no queues.
    """
    variables = {"QUEUE_DATABASE_DRIVER": request.param}
    with postgres.database() as database, FunctionServer(database.pooled_dsn, form, variables) as deployment:
        yield deployment


@pytest.fixture
def http(deployment: FunctionServer) -> Iterator[httpx.Client]:
    """Yields a plain HTTP client for the deployment."""
    with client_setup.Client(base_url=deployment.endpoint_url) as http:
        yield http


@pytest.fixture
def sqs(deployment: FunctionServer) -> Iterator[Any]:
    """Yields boto3's client for the deployment."""
    client = boto3.client(
        "sqs",
        endpoint_url=deployment.endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}),
    )
    yield client
    client.close()
