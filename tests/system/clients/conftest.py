"""Provides one installation for all clients of a test process. PENSTOCK_DEPLOYMENT selects the deployment (`make
clients`).

container   `penstock up --ephemeral` (the default)
lambda      `make lambda` runs the output of `sam build` behind the load balancer: one function for each JSON action
http-api    `make lambda` behind the HTTP API: one function answers all requests whose path names no route
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
from tests.support.database import TestServer
from tests.support.programs.local_lambda import running_gateway
from tests.support.programs.penstock_up import Up, running


@dataclass(frozen=True)
class Functions:
    """Runs the functions behind the load balancer or the HTTP API."""

    address: str


@pytest.fixture(scope="session")
def container() -> Iterator[Up]:
    with running("--ephemeral") as up:
        yield up


@pytest.fixture(scope="session")
def up(request: pytest.FixtureRequest) -> Iterator[Deployment]:
    match os.environ.get("PENSTOCK_DEPLOYMENT") or "container":
        case "container":
            yield request.getfixturevalue("container")
        case ("lambda" | "http-api") as deployment:
            build = ROOT / ".aws-sam/build"
            assert build.is_dir(), "the functions are not built: run `make clients DEPLOYMENT=lambda`"
            # Tests must not wait a minute for a delivery. All functions stay warm, but the gateway sometimes starts a
            # new environment.
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
    with sqs_client(up) as sqs:
        yield sqs
