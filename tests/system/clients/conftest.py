"""Provides one installation for all clients of a test process, in the deployment of PENSTOCK_DEPLOYMENT (see `make
clients`).

container   `penstock up --ephemeral`: everything that a newcomer has (the default)
lambda      `make lambda`: the output of `sam build`, by the load balancer's rules: each JSON action its own function
http-api    the same, behind the routes of the HTTP API: one function for all that is not told by the path
sam-local   `sam local start-api`, in containers; needs a Docker engine
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.clients.sam_local import running_sam
from tests.support.clients.service_client import ROOT, Deployment, sqs_client
from tests.support.clients.terraform_cli import Terraform
from tests.support.database import TestServer
from tests.support.programs.local_lambda import running_gateway
from tests.support.programs.penstock_up import Up, running


@dataclass(frozen=True)
class Functions:
    """Runs the functions at one of their fronts."""

    address: str


@pytest.fixture(scope="session")
def container() -> Iterator[Up]:
    """Runs a separate PostgreSQL, PgBouncer and service."""
    with running("--ephemeral") as up:
        yield up


@pytest.fixture(scope="session")
def up(request: pytest.FixtureRequest) -> Iterator[Deployment]:
    """Yields the address for the clients."""
    match os.environ.get("PENSTOCK_DEPLOYMENT") or "container":
        case "container":
            yield request.getfixturevalue("container")
        case ("lambda" | "http-api") as deployment:
            build = ROOT / ".aws-sam/build"
            assert build.is_dir(), "the functions are not built: run `make clients DEPLOYMENT=lambda`"
            # A test must not wait a minute for a delivery. All functions stay warm, except for an occasional new
            # environment.
            options = ("--ephemeral", "--most", "40", "--recycle", "100", "--schedules-pause", "0.2")
            with running_gateway(build, *options, DATABASE_URL="") as gateway:
                yield Functions(gateway.balancer if deployment == "lambda" else gateway.http_api)
        case "sam-local":
            server: TestServer = request.getfixturevalue("postgres")
            with server.database() as database, running_sam(database.pooled_dsn) as address:
                yield Functions(address)
        case other:
            pytest.fail(f"PENSTOCK_DEPLOYMENT is container, lambda, http-api or sam-local, not {other}")


@pytest.fixture
def sqs(up: Deployment) -> Iterator[Any]:
    """Yields boto3's client of SQS."""
    with sqs_client(up) as sqs:
        yield sqs


@pytest.fixture(scope="module")
def changed(made: Terraform) -> Terraform:
    """Returns the resources of the module's fixture `made`, after every possible change."""
    made.apply(changed=True)
    return made
