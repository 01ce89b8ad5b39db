"""Tests that callers get 503 and Retry-After in every deployment if every connection to the server is taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from penstock.postgres.migrations import migrate
from penstock_web.local.pgbouncer import PgBouncer, running_pgbouncer
from penstock_web.local.postgres import ROLE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support import plain_http
from tests.support.database import memory_directory
from tests.support.functions.server import FunctionServer
from tests.support.programs.penstock_service import running_service

POOL_SIZE = 1
RESERVE = 2  # pgbouncer.ini.tmpl
HEADERS = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ListQueues"}


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with (
        ephemeral_state(memory_directory()) as state,
        running_postgres(state, SystemAccount.choose()) as server,
    ):
        migrate(server.service_dsn(), role=ROLE)
        yield server


@pytest.fixture(scope="module")
def pooler(server: Postgres) -> Iterator[PgBouncer]:
    with running_pgbouncer(server.data.parents[1], server, pool_size=POOL_SIZE) as pooler:
        yield pooler


def taken(pooler: PgBouncer, stack: ExitStack) -> None:
    """Opens as many transactions as there are connections to the server."""
    for _ in range(POOL_SIZE + RESERVE):
        connection = psycopg.connect(pooler.dsn(), prepare_threshold=None)
        stack.callback(connection.close)
        connection.execute("select 1")


@pytest.mark.parametrize("deployment", ["container", "lambda"])
def test_callers_are_told_to_come_again(server: Postgres, pooler: PgBouncer, deployment: str) -> None:
    with ExitStack() as stack:
        if deployment == "container":
            service = stack.enter_context(running_service(pooler.dsn(), server.service_dsn()))
            url = service.url
        else:
            url = stack.enter_context(FunctionServer(pooler.dsn())).endpoint_url
        http = stack.enter_context(plain_http.Client(base_url=url, timeout=60, headers=HEADERS))
        assert http.post("/", content=b"{}").status_code == 200
        with ExitStack() as holding:
            taken(pooler, holding)
            refused = http.post("/", content=b"{}")
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) > 0
            assert "ServiceUnavailable" in refused.json()["__type"]
        assert http.post("/", content=b"{}").status_code == 200
