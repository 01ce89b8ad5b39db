"""Tests addresses that name several hosts: the service finds the one that accepts writes, and leaves it when it no
longer does.

The source is the PostgreSQL documentation, "Specifying Multiple Hosts" and target_session_attrs.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx
import psycopg
import pytest

from penstock.postgres.database import Database
from penstock.postgres.migrations import migrate
from penstock.postgres.statement import Statement
from penstock_web.database.pool import Pool
from penstock_web.local.postgres import ROLE, Postgres, free_port, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support.database import end_sessions, memory_directory
from tests.support.programs.penstock_service import running_service
from tests.support.programs.penstock_up import COMMAND
from tests.support.wait import wait_until

ACCOUNT = SystemAccount.choose()


class Port(NamedTuple):
    inet_server_port: int


WHERE = Statement("pg_catalog.inet_server_port", (), Port)


class Pair:
    """A primary and its standby. `address` names both, the standby first."""

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
        """Promotes the standby, and the former primary accepts no more writes."""
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
        ACCOUNT.make_private_folder(state, 0o711)
        command: list[str | Path] = [primary.binaries.path("pg_basebackup"), "-d", primary.superuser_dsn()]
        done = ACCOUNT.run([*command, "-D", standby, "--write-recovery-conf", "--checkpoint=fast"], log=log)
        assert done.returncode == 0, log.read_text()
        sockets = ACCOUNT.make_private_folder(state / "sockets")
        settings = f"port = {port}\nunix_socket_directories = '{sockets}'\n"
        ACCOUNT.write(standby / "penstock.conf", settings)
        made = Pair(primary, standby, port)
        stack.callback(made.command, "stop", "-m", "immediate")
        made.command("start", "-l", log)
        yield made


async def test_the_server_that_accepts_writes_is_found_and_one_that_stops_is_left(pair: Pair) -> None:
    drivers = [Database(pair.address, driver) for driver in ("psycopg", "pg8000")]
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

    The service does not start. If new direct connections lead to the copy later, as in a failover, requests get 503
    until the addresses lead to one server again.
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
