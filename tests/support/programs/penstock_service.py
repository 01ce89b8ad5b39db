"""A real service in a process of its own, on a free port."""

import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import boto3
import httpx
import psycopg
from botocore.config import Config

ACCOUNT = "000000000000"


@dataclass
class Service:
    """`process` has been started; `url` answers."""

    url: str
    process: "subprocess.Popen[bytes]"

    def sqs(self) -> Any:
        """A boto3 client that tries once and waits long."""
        return self.client("sqs")

    def client(self, service: str) -> Any:
        """The same for another service."""
        config = Config(retries={"total_max_attempts": 1}, read_timeout=60, max_pool_connections=50)
        return boto3.client(
            service, endpoint_url=self.url, region_name="us-east-1", config=config,
            aws_access_key_id="x", aws_secret_access_key="x",
        )  # fmt: skip

    def http(self) -> httpx.Client:
        """A plain HTTP client."""
        # Unverified, since plain: loading the certificate authorities takes 20 ms a client.
        return httpx.Client(base_url=self.url, timeout=60, verify=False)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.terminate()
        return self.process.wait(30)


def free_port() -> int:
    """A port that nobody listens at, below those that the system gives to outgoing connections."""
    while True:
        port = random.randrange(10_240, 32_768)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def running_service(
    database_url: str, direct_url: str | None = None, log: Any = None, **settings: str
) -> Iterator[Service]:
    """Starts a service process and stops it; `settings` are environment variables, `log` is a file for its output.

    It checks twice a second for what nobody notifies it of, such as rows that a test inserts itself.
    """
    port = free_port()
    ready, ready_fd = os.pipe()
    addresses = {"DATABASE_URL": database_url, "DATABASE_DIRECT_URL": direct_url or database_url}
    command = [sys.executable, "-m", "penstock_web.cli", "worker", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(
        [*command, "--ready-fd", str(ready_fd)],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        pass_fds=[ready_fd],
        env={**os.environ, **addresses, "QUEUE_IDLE_CHECK_MS": "500", **settings},
    ) as process:
        os.close(ready_fd)
        try:
            assert os.read(ready, 1) == b"1", "the service did not start"
            yield Service(f"http://127.0.0.1:{port}", process)
        finally:
            os.close(ready)
            process.terminate()


def until_row(dsn: str, query: str) -> None:
    """Returns when the query has a row: the database itself says that something has happened."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        while connection.execute(query.encode()).fetchone() is None:
            pass
