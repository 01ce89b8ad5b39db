"""The chart's containers as processes: their commands and variables, on a real PostgreSQL behind the image's PgBouncer.

Helm renders, this module starts what it rendered, without a cluster: hosts and ports are values.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import boto3
import pytest

from penstock_web.local.postgres import DATABASE, ROLE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support.database import memory_directory
from tests.support.helm.chart import Object, Rendered, container, environment, render
from tests.support.programs.penstock_service import free_port
from tests.support.wait import wait_until
from tests.system.pooler.test_container_pooler import pooler

pytestmark = pytest.mark.tools

KEY = base64.b64encode(secrets.token_bytes(32)).decode()


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """Empty, and without TLS."""
    with (
        ephemeral_state(memory_directory()) as state,
        running_postgres(state, SystemAccount.choose()) as server,
    ):
        yield server


def rendered_for(server: Postgres, pooler_port: int) -> Rendered:
    return render(
        more={
            "database": {
                "host": "127.0.0.1", "port": server.port, "name": DATABASE, "user": ROLE, "sslMode": "disable",
            },
            "pgbouncer": {"enabled": False, "address": f"127.0.0.1:{pooler_port}"},
        }
    )  # fmt: skip


def start(pod: Object, secret: dict[str, str], **more: str) -> subprocess.Popen[str]:
    """The pod's container as a process, with the keys of secrets that it names."""
    variables = {
        name: value if isinstance(value, str) else secret[value[1]]
        for name, value in environment(pod).items()
    }
    return subprocess.Popen(
        [sys.executable, "-m", "penstock_web.cli", *container(pod)["args"]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", **variables, **more},
    )  # fmt: skip


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_the_migration_makes_a_key_with_which_the_service_lets_in(server: Postgres) -> None:
    secret = {"password": server.password, "QUEUE_ENCRYPTION_KEY": KEY}
    # The image's own PgBouncer; its variables are compared in test_promises.py.
    with pooler(server) as pooler_port:
        objects = rendered_for(server, pooler_port)
        migration = start(objects.pods["penstock-migrate"], secret)
        log, _ = migration.communicate(timeout=300)
        assert migration.returncode == 0, log
        (access_key,) = re.findall(r"^AWS_ACCESS_KEY_ID=(\S+)$", log, re.MULTILINE)
        (secret_key,) = re.findall(r"^AWS_SECRET_ACCESS_KEY=(\S+)$", log, re.MULTILINE)
        port = free_port()
        service = start(
            objects.pods["penstock-service"], secret, QUEUE_ADDRESS=f"0.0.0.0:{port}", LOG_LEVEL="warning"
        )
        try:
            wait_until(lambda: service.poll() is not None or is_ready(port))
            assert service.poll() is None, service.stdout and service.stdout.read()
            sqs = boto3.client(
                "sqs", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1",
                aws_access_key_id=access_key, aws_secret_access_key=secret_key,
            )  # fmt: skip
            url = sqs.create_queue(QueueName="orders")["QueueUrl"]
            sqs.send_message(QueueUrl=url, MessageBody="hello")
            (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
            assert message["Body"] == "hello"
        finally:
            service.terminate()
            service.communicate(timeout=60)
        assert service.returncode == 0
