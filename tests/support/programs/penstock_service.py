"""Runs a service in a separate process on a free port.

The processes are forked from a process that has imported the service (multiprocessing's "forkserver"), because a new
interpreter spends about a second of CPU on the import. `penstock_up.py` starts `penstock up` as users do.
"""

import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import boto3
import httpx
import psycopg
from botocore.config import Config

from penstock_web.cli import main
from penstock_web.local.postgres import free_port
from tests.support.wait import wait_until

ACCOUNT = "000000000000"

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(
    ["penstock_web.server", "penstock_web.cli.commands.up", "penstock_web.local.up", __name__]
)


@dataclass
class Service:
    """A running service."""

    url: str
    process: BaseProcess

    def sqs(self) -> Any:
        """Returns a boto3 client without retries and with a long timeout."""
        return self.client("sqs")

    def client(self, service: str) -> Any:
        config = Config(retries={"total_max_attempts": 1}, read_timeout=60, max_pool_connections=50)
        return boto3.client(
            service, endpoint_url=self.url, region_name="us-east-1", config=config,
            aws_access_key_id="x", aws_secret_access_key="x",
        )  # fmt: skip

    def http(self) -> httpx.Client:
        # The connection is plain HTTP. Loading the certificate authorities would take 20 ms for each client.
        return httpx.Client(base_url=self.url, timeout=60, verify=False)

    @property
    def process_id(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def stop(self) -> int:
        self.process.terminate()
        return self.exit_code()

    def exit_code(self) -> int:
        """Waits for the process's exit. Returns the exit code."""
        self.process.join(30)
        assert self.process.exitcode is not None, "the service goes on"
        return self.process.exitcode


@contextmanager
def running_service(
    database_url: str,
    direct_url: str | None = None,
    log: Any = None,
    constants: Any = None,
    **settings: str,
) -> Iterator[Service]:
    """Starts a service process and stops it. `settings` are environment variables. `log` is a file for the service's
    output. `constants` maps full names of constants to the values that this service has, such as a shorter interval.

    Every half second, the service looks for changes without a notification, such as rows that a test inserts.
    """
    port = free_port()
    addresses = {"DATABASE_URL": database_url, "DATABASE_DIRECT_URL": direct_url or database_url}
    environment = {**os.environ, **addresses, "QUEUE_IDLE_CHECK_MS": "500", **settings}
    ready, report_ready = _processes.Pipe(duplex=False)
    outputs = [Connection(os.dup(fd), readable=False) for fd in ([log.fileno()] * 2 if log else [1, 2])]
    command = ["worker", "--host", "127.0.0.1", "--port", str(port), "--ready-fd"]
    with _forked(command, environment, outputs, report_ready, constants) as process:
        assert os.read(ready.fileno(), 1) == b"1", "the service did not start"
        ready.close()
        yield Service(f"http://127.0.0.1:{port}", process)


@contextmanager
def running_up(variables: Mapping[str, str]) -> Iterator[str]:
    """Runs `penstock up` on an existing, migrated database with the given environment variables. Yields its address."""
    port = free_port()
    printed, stdout = _processes.Pipe(duplex=False)
    outputs = [stdout, Connection(os.dup(2), readable=False)]
    command = ["up", "--port", str(port), "--no-migrate"]
    with (
        _forked(command, {**os.environ, **variables}, outputs) as process,
        os.fdopen(os.dup(printed.fileno())) as lines,
    ):
        assert lines.readline().startswith("penstock ready"), "the service did not start"
        yield f"http://127.0.0.1:{port}"
        process.terminate()
        process.join(30)
        assert process.exitcode == 0


@contextmanager
def _forked(
    command: list[str],
    environment: dict[str, str],
    outputs: list[Connection],
    ready: Connection | None = None,
    constants: Mapping[str, object] | None = None,
) -> Iterator[BaseProcess]:
    """Runs `penstock COMMAND` in a new process, which writes to the file descriptor `ready` when it is ready. The last
    argument is the descriptor's number.
    """
    stdin, until_closed = _processes.Pipe(duplex=False)
    arguments = (command, environment, [stdin, *outputs], ready, dict(constants or {}))
    process = _processes.Process(target=_run, args=arguments, daemon=True)
    process.start()
    for sent in (stdin, *outputs, *([ready] if ready else [])):
        sent.close()
    try:
        yield process
    finally:
        process.terminate()
        process.join()
        until_closed.close()


def _run(
    command: list[str],
    environment: dict[str, str],
    files: list[Connection],
    ready: Connection | None,
    constants: dict[str, object],
) -> None:
    """Runs `penstock COMMAND` in the new process with the given environment, files and constants."""
    for name, value in constants.items():
        module, _, constant = name.rpartition(".")
        assert hasattr(import_module(module), constant), name
        setattr(import_module(module), constant, value)
    os.environ.clear()
    os.environ.update(environment)
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    if ready:
        command = [*command, str(os.dup(ready.fileno()))]
        ready.close()
    sys.exit(main(command))


def until_row(dsn: str, query: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        wait_until(lambda: connection.execute(query.encode()).fetchone() is not None)
