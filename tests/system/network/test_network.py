"""Tests addresses that name several hosts, and connections that stop responding."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock.errors import ServiceUnavailable
from penstock.postgres import database as database_module
from penstock.postgres.database import Database as FunctionDatabase
from penstock.postgres.migrations import migrate
from penstock.postgres.network import IDLE_SECONDS
from penstock.postgres.statement import Statement
from penstock_web.database import listener, pipeline_pool
from penstock_web.database import pool as pool_module
from penstock_web.database.activity import Activity
from penstock_web.database.errors import OutcomeUnknown
from penstock_web.database.pool import Pool
from penstock_web.local.postgres import ROLE, Postgres, free_port, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.database import Database, end_sessions, memory_directory
from tests.support.network.lying_proxy import LyingProxy, lying_proxy
from tests.support.programs.penstock_service import Service, running_service
from tests.support.programs.penstock_up import COMMAND
from tests.support.wait import wait_until

# --- several hosts ---------------------------------------------------------------------------------------------------
# Tests addresses that name several hosts: the service finds the writable host, and leaves a host that becomes
# read-only.
#
# Source: PostgreSQL documentation, "Specifying Multiple Hosts" and target_session_attrs.

ACCOUNT = SystemAccount.choose()


class Port(NamedTuple):
    inet_server_port: int


WHERE = Statement("pg_catalog.inet_server_port", (), Port)


class Pair:
    """Contains a primary and its standby. `address` names both hosts, the standby first."""

    def __init__(self, primary: Postgres, standby: Path, port: int) -> None:
        self.primary = primary
        self.standby = standby
        self.port = port
        self.address = (
            f"postgresql://{ROLE}:{primary.password}@127.0.0.1:{port},127.0.0.1:{primary.port}/penstock"
            "?target_session_attrs=read-write"
        )

    def command(self, *arguments: str | Path) -> None:
        done = ACCOUNT.run([self.primary.binaries.path("pg_ctl"), "-w", "-D", self.standby, *arguments], log=self.log)
        assert done.returncode == 0, self.log.read_text()

    @property
    def log(self) -> Path:
        return self.standby.parent / "standby.log"

    def exchange_roles(self) -> None:
        """Makes the primary read-only, and promotes the standby."""
        with psycopg.connect(self.primary.superuser_dsn(), autocommit=True) as connection:
            connection.execute("alter system set default_transaction_read_only = on")
            connection.execute("select pg_reload_conf()")
        self.command("promote")


@pytest.fixture
def pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        state = stack.enter_context(ephemeral_state(memory_directory()))
        primary = stack.enter_context(running_postgres(state, ACCOUNT, settings={"fsync": "off"}))
        migrate(primary.service_dsn(), role=ROLE)
        standby, port = state / "standby", free_port()
        log = ACCOUNT.write(state / "standby.log", "")
        ACCOUNT.create_private_folder(state, 0o711)
        command: list[str | Path] = [primary.binaries.path("pg_basebackup"), "-d", primary.superuser_dsn()]
        done = ACCOUNT.run([*command, "-D", standby, "--write-recovery-conf", "--checkpoint=fast"], log=log)
        assert done.returncode == 0, log.read_text()
        sockets = ACCOUNT.create_private_folder(state / "sockets")
        settings = f"port = {port}\nunix_socket_directories = '{sockets}'\n"
        ACCOUNT.write(standby / "penstock.conf", settings)
        made = Pair(primary, standby, port)
        stack.callback(made.command, "stop", "-m", "immediate")
        made.command("start", "-l", log)
        yield made


async def test_the_server_that_accepts_writes_is_found_and_one_that_stops_is_left(pair: Pair) -> None:
    drivers = [FunctionDatabase(pair.address, driver) for driver in ("psycopg", "pg8000")]
    pool = Pool(pair.address, 2, 5)
    await pool.open()
    assert await pool.fetch("select inet_server_port()") == [(pair.primary.port,)]
    assert [driver.call(WHERE, ()) for driver in drivers] == [[(pair.primary.port,)]] * 2
    with running_service(pair.address) as service:
        sqs = service.sqs()
        url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="before")
        pair.exchange_roles()

        refusals: list[int] = []

        def sends() -> bool:
            try:
                sqs.send_message(QueueUrl=url, MessageBody="after")
            except sqs.exceptions.ClientError as error:
                refusals.append(error.response["ResponseMetadata"]["HTTPStatusCode"])
                return False
            return True

        wait_until(sends)
        assert set(refusals) <= {503}
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        assert {message["Body"] for message in messages} == {"before", "after"}
    for driver in drivers:
        driver.close()
        assert driver.call(WHERE, ()) == [(pair.port,)]
        driver.close()
    await pool.close()


def test_a_copy_of_the_server_is_another_database(pair: Pair) -> None:
    """The copy has the same names, oids, system identifier, roles and secrets. Both servers accept writes.

    A service whose two addresses reach different servers does not start. If new direct connections reach the copy
    later, for example after a failover, requests receive 503 until all addresses reach the same server.
    """
    address = pair.primary.service_dsn()
    copy = address.replace(f":{pair.primary.port}/", f":{pair.port}/")
    with running_service(address, direct_url=pair.address) as service, service.http() as http:
        sqs = service.sqs()
        url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        assert http.get("/readyz").status_code == 200
        pair.command("promote")
        command = [*COMMAND, "up", "--no-migrate", "--port", str(free_port())]
        variables = {**os.environ, "DATABASE_URL": address, "DATABASE_DIRECT_URL": copy}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("penstock: DATABASE_URL and DATABASE_DIRECT_URL lead to different databases: ")
        with psycopg.connect(pair.primary.superuser_dsn("penstock"), autocommit=True) as administration:
            end_sessions(administration)
        body = {"QueueUrl": url, "MessageBody": "x"}
        headers = {"X-Amz-Target": "AmazonSQS.SendMessage", "Content-Type": "application/x-amz-json-1.0"}

        def send() -> httpx.Response:
            return http.post("/", json=body, headers=headers)

        wait_until(lambda: "lead to different databases" in send().text)
        assert (send().status_code, send().headers["retry-after"]) == (503, "1")
        assert http.get("/readyz").status_code == 503
        pair.command("stop", "-m", "immediate")
        wait_until(lambda: send().status_code == 200)
        assert http.get("/readyz").status_code == 200
    pair.command("start", "-l", pair.log)


# --- silent connections ----------------------------------------------------------------------------------------------
# Tests connections that stop responding while TCP still acknowledges data: a frozen pooler or a hung server.
#
# Every wait has a limit. The client receives 503 with Retry-After, and the service returns to servers that respond
# again.

CALL_SECONDS = 0.5


class Number(NamedTuple):
    generate_series: int


class Nothing(NamedTuple):
    pg_sleep: str


SERIES = Statement("generate_series", ("int4", "int4"), Number)
NAP = Statement("pg_sleep", ("int4",), Nothing)


@pytest.fixture
def proxy(database: Database) -> Iterator[LyingProxy]:
    with psycopg.connect(database.api_dsn) as connection:
        host, port = connection.info.host, connection.info.port
    with lying_proxy(host, port) as proxy:
        yield proxy


@pytest.fixture
def lied_to(database: Database, proxy: LyingProxy) -> str:
    return make_conninfo(database.api_dsn, host="127.0.0.1", port=proxy.port)


async def until(condition: Callable[[], bool]) -> None:
    """Waits like `wait_until`, but does not block the event loop."""
    await asyncio.to_thread(wait_until, condition)


# --- functions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("driver", ["psycopg", "pg8000"])
def test_a_functions_call_ends_and_the_next_one_works(database: Database, proxy: LyingProxy, driver: str) -> None:
    with psycopg.connect(database.api_dsn) as connection:
        info = connection.info
        url = f"postgresql://{info.user}:{info.password}@127.0.0.1:{proxy.port}/{info.dbname}"
    function = FunctionDatabase(url, driver, CALL_SECONDS)
    assert function.call(SERIES, (1, 1)) == [(1,)]
    proxy.swallow()
    if driver == "psycopg":
        with pytest.raises(ServiceUnavailable):
            function.call(SERIES, (1, 1))
    assert function.call(SERIES, (2, 2)) == [(2,)]  # With pg8000, BEGIN received no response, so the driver retries it.
    function.close()


@pytest.mark.parametrize("driver", ["psycopg", "pg8000"])
def test_a_function_asks_a_connection_that_was_idle(
    database: Database, proxy: LyingProxy, monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    """A load balancer forgot the connection while the process was frozen. The client receives no error."""
    with psycopg.connect(database.api_dsn) as connection:
        info = connection.info
        address = f"host=127.0.0.1 port={proxy.port} user={info.user} password={info.password} dbname={info.dbname}"
    clock = [1000.0]
    monkeypatch.setattr(database_module, "time", lambda: clock[0])
    monkeypatch.setattr(database_module, "PING_SECONDS", 0.2)
    function = FunctionDatabase(address, driver, call_seconds=60)
    assert function.call(SERIES, (1, 1)) == [(1,)]
    clock[0] += IDLE_SECONDS + 1
    assert function.call(SERIES, (2, 2)) == [(2,)]
    assert len(proxy.links) == 1  # The connection responded, so the function keeps it.
    proxy.swallow()
    for skew in (1, -1):  # After a freeze, the process's clock can go back.
        clock[0] += skew * (IDLE_SECONDS + 1)
        assert function.call(SERIES, (3, 3)) == [(3,)]
        proxy.swallow()
    function.close()


# --- the pool --------------------------------------------------------------------------------------------------------
async def test_pooled_calls_end_and_the_next_ones_work(lied_to: str, proxy: LyingProxy) -> None:
    """One call detects the fault for all idle connections, so the service does not try each of them."""
    pool = Pool(lied_to, 4, 5, call_seconds=CALL_SECONDS)
    await pool.open()
    both = await asyncio.gather(pool.fetch("select pg_sleep(0.01)"), pool.fetch("select pg_sleep(0.01)"))
    assert list(both) == [[("",)], [("",)]]
    proxy.swallow()
    with pytest.raises(OutcomeUnknown):
        await pool.fetch("select 1")
    assert await asyncio.gather(*(pool.fetch("select 1") for _ in range(4))) == [[(1,)]] * 4
    await pool.close()


async def test_merged_calls_end_and_the_next_ones_work(lied_to: str, proxy: LyingProxy) -> None:
    pool = Pool(lied_to, 4, 5, lied_to, call_seconds=CALL_SECONDS)
    await pool.open()
    while not pool._pipelines.counts[1]:  # The connection opens in the background.
        await pool.call_pipelined(SERIES, (1, 1))
    proxy.swallow()
    with pytest.raises(OutcomeUnknown):
        await pool.call_pipelined(SERIES, (1, 1))
    assert await pool.call_pipelined(SERIES, (2, 2)) == [(2,)]
    assert not await pool.is_stuck()
    await pool.close()


@pytest.mark.parametrize("way", ["pooled", "merged"])
async def test_a_connection_that_ends_after_a_silence_speaks_for_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The host vanishes, and TCP gives up. The service then does not try each idle connection."""
    monkeypatch.setattr(pool_module, "SILENCE_SECONDS", 0.0)
    monkeypatch.setattr(pipeline_pool, "WATCH_SECONDS", 0.01)
    pool = Pool(database.api_dsn, 4, 5, database.api_dsn)
    await pool.open()
    while not pool._pipelines.counts[1]:  # The connection opens in the background.
        await pool.call_pipelined(SERIES, (1, 1))
    both = await asyncio.gather(*(pool.fetch("select pg_backend_pid(), pg_sleep(0.01)") for _ in range(2)))
    before = {row[0] for rows in both for row in rows}
    call = asyncio.get_running_loop().create_task(
        pool.fetch("select pg_sleep(60)") if way == "pooled" else pool.call_pipelined(NAP, (60,))
    )
    await until(lambda: bool(pool._calls) or pool._pipelines.find_longest_call() > 0)
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        query = "select pg_terminate_backend(pid) from pg_stat_activity where query ~ 'pg_sleep' and pid <> %s"
        connection.execute(query, [connection.info.backend_pid])
    with pytest.raises(OutcomeUnknown):
        await call
    ((after,),) = await pool.fetch("select pg_backend_pid()")
    assert after not in before
    await pool.close()


async def test_a_pool_is_stuck_when_its_calls_do_not_end_though_the_database_answers(
    lied_to: str, proxy: LyingProxy
) -> None:
    """/livez fails if calls exceed every deadline. If the database does not respond either, /livez succeeds, because a
    restart would not help."""
    pool = Pool(lied_to, 4, 5, call_seconds=60)
    await pool.open()
    await pool.fetch("select 1")
    proxy.swallow()
    call = asyncio.get_running_loop().create_task(pool.fetch("select 1"))
    await until(lambda: bool(pool._calls))
    assert not await pool.is_stuck()
    pool._limits = replace(pool._limits, call_seconds=0.0)  # The value 0 simulates the passing of a minute.
    assert await pool.is_stuck()
    proxy.reset()
    with pytest.raises(OutcomeUnknown):
        await call
    assert not await pool.is_stuck()
    await pool.close()


# --- LISTEN ----------------------------------------------------------------------------------------------------------
class Ear:
    receives_notifications = False

    def __init__(self) -> None:
        self.renewed = 0

    def handle_notification(self, queue_arn: str, /) -> None: ...

    def renew_registrations(self) -> None:
        self.renewed += 1

    def wake_workers(self) -> None: ...


async def test_the_listener_notices_and_listens_again(
    lied_to: str, proxy: LyingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "RECONNECT_PAUSE_SECONDS", 0.0)
    ear = Ear()
    listening = asyncio.get_running_loop().create_task(listener.listen(lied_to, ear, Activity(), CALL_SECONDS, 0.1))
    await until(lambda: ear.renewed == 1)
    proxy.swallow()
    await until(lambda: ear.renewed == 2)
    listening.cancel()
    await asyncio.wait([listening])


# --- the whole service -----------------------------------------------------------------------------------------------
@pytest.fixture
def service(lied_to: str) -> Iterator[Service]:
    with running_service(lied_to, QUEUE_DATABASE_CALL_TIMEOUT_MS="500", QUEUE_METRICS_INTERVAL_MS="100") as service:
        yield service


def send(http: httpx.Client, body: str) -> httpx.Response:
    headers = {"x-amz-target": "AmazonSQS.SendMessage", "content-type": "application/x-amz-json-1.0"}
    queue = "http://127.0.0.1/000000000000/orders"
    return http.post("/", headers=headers, content=json.dumps({"QueueUrl": queue, "MessageBody": body}))


def test_the_service_goes_on(database: Database, service: Service, proxy: LyingProxy) -> None:
    """Running calls receive 503. Later sends, receives, schedules and measurements use new connections."""
    sqs: Any = service.sqs()
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    with service.http() as http:
        assert send(http, "first").status_code == 200
        proxy.swallow()
        responses = [send(http, "second")]
        while responses[-1].status_code != 200:
            responses.append(send(http, "second"))
        refused = responses[:-1]
        assert {response.status_code for response in refused} <= {503}
        assert all(int(response.headers["retry-after"]) > 0 for response in refused)
        assert refused
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            connection.execute("delete from queue.measurement")
            target = {"queue": "orders", "message": "fired"}
            made = http.post("/v1/schedules", json={"name": "tick", "every": "1s", "target": target})
            assert made.status_code == 201, made.text
            wait_until(lambda: fired(sqs, url))
            wait_until(lambda: bool(connection.execute("select from queue.measurement").fetchall()))
        assert http.get("/readyz").status_code == http.get("/livez").status_code == 200


def fired(sqs: Any, url: str) -> bool:
    response = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
    return any(message["Body"] == '"fired"' for message in response.get("Messages", []))


@pytest.mark.parametrize("fault", ["reset", "halve"])
def test_connections_that_end_in_the_middle(service: Service, proxy: LyingProxy, fault: str) -> None:
    sqs: Any = service.sqs()
    sqs.create_queue(QueueName="orders")
    with service.http() as http:
        assert send(http, "first").status_code == 200
        for _ in range(5):
            getattr(proxy, fault)()
            assert send(http, "second").status_code in (200, 503)
        responses = [send(http, "third") for _ in range(5)]
        assert responses[-1].status_code == 200


def test_a_database_that_accepts_connections_and_says_nothing(service: Service, proxy: LyingProxy) -> None:
    """/readyz fails, but /livez succeeds, because a restart would not help."""
    sqs: Any = service.sqs()
    sqs.create_queue(QueueName="orders")
    with service.http() as http:
        proxy.swallow(new_too=True)
        response = send(http, "first")
        assert (response.status_code, int(response.headers["retry-after"]) > 0) == (503, True)
        assert (http.get("/readyz").status_code, http.get("/livez").status_code) == (503, 200)
        proxy.pass_new()
        wait_until(lambda: send(http, "first").status_code == 200)
