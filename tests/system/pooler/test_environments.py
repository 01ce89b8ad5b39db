"""Tests many execution environments on ten server connections through PgBouncer, and then failures of PgBouncer and
PostgreSQL.

200 environments make 20,000 requests without an error. While the environments send requests, the test kills PgBouncer,
restarts PostgreSQL, and kills PostgreSQL. Every environment works again within 5 s after the database accepts calls,
and no acknowledged message is lost.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from threading import Event
from typing import Any, Literal

import httpx
import psycopg
import pytest

from penstock.postgres.migrations import migrate
from penstock_web.local.pgbouncer import PgBouncer, running_pgbouncer
from penstock_web.local.postgres import ROLE, Postgres, running_postgres, start
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support import client_setup
from tests.support.database import memory_directory
from tests.support.functions.server import FunctionServer
from tests.support.programs.penstock_service import running_service
from tests.support.sql.calls import create
from tests.support.sql.server_crash import kill_server
from tests.support.wait import wait_until

POOL_SIZE = 8  # PgBouncer opens 10 connections to the server, which include 2 in reserve (pgbouncer.ini.tmpl).
MAX_CONNECTIONS = 10
LONGEST_RECOVERY_SECONDS = 5.0

Disaster = Literal["pgbouncer killed", "postgresql restarted", "postgresql killed"]
_BUSY = "select count(*) from pg_stat_activity where usename = 'penstock' and backend_type = 'client backend'"


@dataclass(frozen=True)
class Plan:
    """Distributes environments over processes. Each process has a separate queue."""

    processes: int
    environments: int
    requests: int
    disasters: tuple[Disaster, ...]
    requests_between: int


class Process:
    """Represents a process that runs several environments (many_environments.py)."""

    def __init__(self, url: str, arn: str, environments: int) -> None:
        command = [sys.executable, "-m", "tests.support.functions.many_environments", url, arn, str(environments)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")

    def response(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process ended"
        return dict(json.loads(line))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@dataclass
class Stage:
    """Contains the running programs and their results. `outages` lists when each outage began, and when the service
    accepted calls again.
    """

    server: Postgres
    stack: ExitStack
    processes: list[Process] = field(default_factory=list)
    outages: list[tuple[Disaster, float, float]] = field(default_factory=list)
    most_connections: int = 0
    pooler: PgBouncer | None = None

    def pool(self) -> PgBouncer:
        port = self.pooler.port if self.pooler else 0
        state = self.server.data.parents[1]
        self.pooler = self.stack.enter_context(running_pgbouncer(state, self.server, pool_size=POOL_SIZE, port=port))
        return self.pooler

    def everybody(self, command: str) -> None:
        for process in self.processes:
            process.tell(command)

    def responses(self) -> list[dict[str, Any]]:
        return [process.response() for process in self.processes]

    def strike(self, disaster: Disaster) -> None:
        begun = time.time()
        if disaster == "pgbouncer killed":
            assert self.pooler is not None
            self.pooler.process.kill()
            self.pooler.process.wait()
            self.pool()
        elif disaster == "postgresql restarted":
            pg_ctl = self.server.binaries.path("pg_ctl")
            self.server.account.run([pg_ctl, "stop", "-D", self.server.data, "-m", "fast", "-w"])
            start(self.server.data.parents[1], self.server.account)
        else:
            kill_server(self.server.data)
            start(self.server.data.parents[1], self.server.account)
        self.outages.append((disaster, begun, time.time()))

    def progress(self, requests: int) -> None:
        """Waits for the given number of further transactions. Records the number of server connections during the
        wait.
        """
        with psycopg.connect(self.server.superuser_dsn(), autocommit=True) as connection:
            goal = transactions(connection) + requests
            deadline = time.monotonic() + 120
            while transactions(connection) < goal:
                assert time.monotonic() < deadline, "no progress"
                self.most_connections = max(self.most_connections, number(connection, _BUSY))
                time.sleep(0.05)


def number(connection: psycopg.Connection[Any], query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def transactions(connection: psycopg.Connection[Any]) -> int:
    return number(connection, "select xact_commit from pg_stat_database where datname = 'penstock'")


@contextmanager
def staged(plan: Plan) -> Iterator[Stage]:
    with ExitStack() as stack:
        state = stack.enter_context(ephemeral_state(memory_directory()))
        server = stack.enter_context(running_postgres(state, SystemAccount.choose()))
        migrate(server.service_dsn(), role=ROLE)
        stage = Stage(server, stack)
        pooler = stage.pool()
        with psycopg.connect(server.service_dsn(), autocommit=True) as connection:
            arns = [create(connection, f"queue-{n}") for n in range(plan.processes)]
        for arn in arns:
            process = Process(pooler.dsn(), arn, plan.environments // plan.processes)
            stack.callback(process.close)
            stage.processes.append(process)
        yield stage


def survive(plan: Plan, report: Callable[[str], None]) -> None:
    with staged(plan) as stage:
        began = time.monotonic()
        stage.everybody(f"run {plan.requests // plan.processes}")
        stage.progress(plan.requests // 2)
        calm = stage.responses()
        report(f"{sum(each['made'] for each in calm)} requests in {time.monotonic() - began:.1f} s")
        assert [each["failed"] for each in calm] == [0] * plan.processes
        assert sum(each["made"] for each in calm) == plan.requests // plan.processes * plan.processes
        stage.everybody("go")
        for disaster in plan.disasters:
            stage.progress(plan.requests_between)
            stage.strike(disaster)
        stage.progress(plan.requests_between)
        stage.everybody("stop")
        stage.responses()
        stage.everybody("end")
        seen = stage.responses()
    check(stage, seen, report)


def check(stage: Stage, seen: list[dict[str, Any]], report: Callable[[str], None]) -> None:
    """Checks that no message is lost, that no request waited too long, and that the server had at most ten
    connections."""
    assert [each["unexpected"] for each in seen] == [[]] * len(seen)
    assert [each["violations"] for each in seen] == [{}] * len(seen)
    assert 1 < stage.most_connections <= MAX_CONNECTIONS
    successes = sorted(moment for each in seen for moment in each["successes"])
    failures = sorted(moment for each in seen for moment in each["failures"])
    ends = [begun for _, begun, _ in stage.outages[1:]] + [float("inf")]
    for (disaster, begun, back), end in zip(stage.outages, ends, strict=True):
        first = next(moment for moment in successes if moment > back) - back
        last = max((moment - back for moment in failures if back < moment < end), default=0.0)
        failed = sum(begun < moment < end for moment in failures)
        report(f"{disaster}: first success {first:.2f} s, last failure {last:.2f} s after the return, {failed} failed")
        assert first <= LONGEST_RECOVERY_SECONDS
        assert last <= LONGEST_RECOVERY_SECONDS
    assert failures if stage.outages else not failures
    report(f"sent {sum(e['findings']['sent'] for e in seen)}, {len(failures)} of {len(successes)} failed")


def test_twenty_environments_and_a_killed_pooler() -> None:
    survive(Plan(1, 20, 400, ("pgbouncer killed",), 200), lambda _: None)


@pytest.mark.slow
def test_two_hundred_environments(capsys: pytest.CaptureFixture[str]) -> None:
    def report(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}")

    disasters: tuple[Disaster, ...] = ("pgbouncer killed", "postgresql restarted", "postgresql killed")
    survive(Plan(4, 200, 20_000, disasters, 3_000), report)


# --- full pool -------------------------------------------------------------------------------------------------------
# Tests that callers in every deployment receive 503 and Retry-After when every server connection is in use.

FULL_POOL = 1
RESERVE = 2  # pgbouncer.ini.tmpl
HEADERS = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ListQueues"}


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with ephemeral_state(memory_directory()) as state, running_postgres(state, SystemAccount.choose()) as server:
        migrate(server.service_dsn(), role=ROLE)
        yield server


@pytest.fixture(scope="module")
def pooler(server: Postgres) -> Iterator[PgBouncer]:
    with running_pgbouncer(server.data.parents[1], server, pool_size=FULL_POOL) as pooler:
        yield pooler


def taken(pooler: PgBouncer, stack: ExitStack) -> None:
    """Opens as many transactions as the pool has server connections."""
    for _ in range(FULL_POOL + RESERVE):
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


def succeeded_workers(http: httpx.Client) -> set[str]:
    """Returns the workers that have a successful run in /metrics."""
    page = http.get("/metrics").text
    found = re.findall(r'penstock_worker_runs_total\{worker="(\w+)",outcome="(\w+)"\} (\d+)', page)
    return {worker for worker, outcome, count in found if outcome == "success" and count != "0"}


@pytest.mark.parametrize("limit", [5, 3, 2])
@pytest.mark.parametrize("pooled", [False, True], ids=["direct", "pooled"])
def test_workers_get_their_share_of_few_connections(server: Postgres, limit: int, pooled: bool) -> None:
    """The role's connection limit is lower than the process's. Senders use all connections."""
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

        wait_until(lambda: succeeded_workers(http) >= {"deliver", "events", "fire", "maintain", "measure", "move"})
        wait_until(lambda: http.get(f"/v1/schedules/{role}").json().get("fire_count", 0) > 1)
        wait_until(lambda: statuses[200] > 100)
        stopping.set()
        log.seek(0)
        # Behind a pooler, all parts of a process share its connections.
        said = b"too few database connections: requests give some up, workers take turns" in log.read()
        assert said or pooled
