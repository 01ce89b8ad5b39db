"""Tests that callers get 503 and Retry-After in every deployment if every connection to the server is taken."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from tempfile import TemporaryFile
from threading import Event

import psycopg
import pytest

from penstock.postgres.migrations import migrate
from penstock_web.local.pgbouncer import PgBouncer, running_pgbouncer
from penstock_web.local.postgres import ROLE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support import client_setup
from tests.support.database import memory_directory
from tests.support.functions.server import FunctionServer
from tests.support.programs.penstock_service import running_service
from tests.support.wait import wait_until

POOL_SIZE = 1
RESERVE = 2  # pgbouncer.ini.tmpl
HEADERS = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ListQueues"}


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with ephemeral_state(memory_directory()) as state, running_postgres(state, SystemAccount.choose()) as server:
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
        http = stack.enter_context(client_setup.Client(base_url=url, timeout=60, headers=HEADERS))
        assert http.post("/", content=b"{}").status_code == 200
        with ExitStack() as holding:
            taken(pooler, holding)
            refused = http.post("/", content=b"{}")
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) > 0
            assert "ServiceUnavailable" in refused.json()["__type"]
        assert http.post("/", content=b"{}").status_code == 200


@pytest.mark.parametrize("limit", [5, 3, 2])
@pytest.mark.parametrize("pooled", [False, True], ids=["direct", "pooled"])
def test_workers_get_their_share_of_few_connections(server: Postgres, limit: int, pooled: bool) -> None:
    """The role may have fewer connections than the process wants. Senders keep all of its connections busy."""
    role = f"limited_{limit}_{pooled}".lower()
    with psycopg.connect(server.superuser_dsn("penstock"), autocommit=True) as administration:
        login = f"login password '{server.password}' connection limit {limit}"
        administration.execute(f"create role {role} {login} in role {ROLE}".encode())
    address = server.service_dsn().replace(f"//{ROLE}:", f"//{role}:")
    with ExitStack() as stack:
        log = stack.enter_context(TemporaryFile("w+b"))
        url = address
        if pooled:
            state = stack.enter_context(ephemeral_state(memory_directory()))
            running = stack.enter_context(running_pgbouncer(state, server))
            url = running.dsn().replace(f"//{ROLE}:", f"//{role}:")
        service = stack.enter_context(running_service(url, address, log=log))
        executor = stack.enter_context(ThreadPoolExecutor(8))
        http = stack.enter_context(service.http())
        wait_until(lambda: http.post("/v1/queues", json={"name": role}).status_code != 503)
        stopping = Event()
        stack.callback(stopping.set)
        statuses: Counter[int] = Counter()

        def send() -> None:
            with service.http() as http:
                body = {"QueueUrl": f"{service.url}/000000000000/{role}", "MessageBody": "x"}
                headers = {**HEADERS, "X-Amz-Target": "AmazonSQS.SendMessage"}
                while not stopping.is_set():
                    statuses[http.post("/", json=body, headers=headers).status_code] += 1

        for _ in range(8):
            executor.submit(send)
        target = {"queue": role, "message": "tick"}
        new = {"every": "1s", "target": target}
        wait_until(lambda: http.put(f"/v1/schedules/{role}", json=new).status_code in (200, 201))

        def rounds() -> set[str]:
            page = http.get("/metrics").text
            found = re.findall(r'penstock_worker_runs_total\{worker="(\w+)",outcome="(\w+)"\} (\d+)', page)
            return {worker for worker, outcome, count in found if outcome == "success" and count != "0"}

        wait_until(lambda: rounds() >= {"deliver", "fire", "maintain", "measure", "move"})
        wait_until(lambda: http.get(f"/v1/schedules/{role}").json().get("fire_count", 0) > 1)
        stopping.set()
        assert statuses[200] > 100
        log.seek(0)
        # Behind a pooler the parts of a process share connections anyway.
        said = b"too few database connections: requests give some up, workers take turns" in log.read()
        assert said or pooled
