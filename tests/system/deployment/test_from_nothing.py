"""Runs the commands of docs/start/install.md for a clone, and `make lambda` of docs/operate/lambda_local.md.

Each runs in a bare clone until Ctrl-C.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import psycopg
import pytest

from tests.support.deployment.page import blocks, clone_to, commands
from tests.support.functions.server import ROOT
from tests.support.programs.penstock_service import free_port
from tests.support.wait import wait_until

pytestmark = pytest.mark.tools

# These variables of this process are missing in a newcomer's shell.
OWN_VARIABLES = ("AWS_", "DATABASE_", "MAKE", "MFLAGS", "PENSTOCK_", "PYTEST_", "QUEUE_", "VIRTUAL_ENV", "XDG_")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a clone. The clone's neighbour `home` is empty."""
    base = tmp_path_factory.mktemp("nothing")
    (base / "home").mkdir()
    clone_to(base / "clone")
    return base / "clone"


def environment(clone: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN_VARIABLES)}
    path = ":".join(folder for folder in os.environ["PATH"].split(":") if not folder.startswith(f"{ROOT}/"))
    return {**kept, "HOME": f"{clone.parent}/home", "PATH": path}


@contextmanager
def running(clone: Path, command: str, ready: str) -> Iterator[str]:
    """Yields the output of a command when a pattern shows that the command is ready. Ctrl-C then ends the command and
    all its processes.
    """
    with subprocess.Popen(
        ["bash", "-c", command], cwd=clone, env=environment(clone), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        printed = ""
        try:
            while line := process.stdout.readline():
                printed += line
                if re.search(ready, printed):
                    break
            assert re.search(ready, printed), printed
            yield printed
            assert process.poll() is None
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=60)
    wait_until(lambda: not processes_of(clone))


def processes_of(clone: Path) -> list[str]:
    """Returns command lines of live processes that were started with this clone's home."""
    home = f"HOME={clone.parent}/home".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if home in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_text())
        except OSError:  # The process has ended, or belongs to another user.
            continue
    return found


def run(clone: Path, command: str, **variables: str) -> str:
    """Returns the output of a command, which must succeed."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=clone, env={**environment(clone), **variables}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def send_and_receive(address: str) -> None:
    sqs = boto3.client(
        "sqs", endpoint_url=address, region_name="us-east-1", aws_access_key_id="any", aws_secret_access_key="any"
    )  # fmt: skip
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    assert message["Body"] == "hello"
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    sqs.close()


def test_these_are_the_commands_of_the_page() -> None:
    page = (ROOT / "docs/start/install.md").read_text().partition("\n## ")[0]
    *_, clone_ = blocks(page)
    assert list(commands(clone_)) == ["make run", "make metrics", "make test"]


def test_make_run_and_make_metrics(clone: Path) -> None:
    """The test uses a separate port and database, because other programs may use the usual ones."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with running(clone, f'make run ARGS="--ephemeral --port {port}"', r"\ndatabase (\S+).*\n") as printed:
        assert f"penstock ready on {address}\n" in printed
        send_and_receive(address)
        database = re.findall(r"^database (\S+)", printed, re.MULTILINE)[0]
        run(clone, "make metrics", DATABASE_URL=database)
        with psycopg.connect(database) as db:
            assert db.execute("select count(*) > 0 from queue.metrics_run").fetchone() == (True,)
    assert not is_open(port)
    assert not (clone.parent / "home/.local/state").exists()


def test_make_test(clone: Path) -> None:
    """The command tests one folder."""
    assert re.search(r"^\d+ passed", run(clone, "make test ARGS='tests/integration/sql/send -q'"), re.MULTILINE)


def test_make_lambda(clone: Path) -> None:
    port, other = free_port(), free_port()
    arguments = f"--ephemeral --port {port} --alb-port {other}"
    with running(clone, f'make lambda ARGS="{arguments}"', r"\d+ functions, .*\n") as printed:
        assert f"lambda ready on http://127.0.0.1:{port}, " in printed
        send_and_receive(f"http://127.0.0.1:{port}")
        send_and_receive(f"http://127.0.0.1:{other}")
    assert not is_open(port)
    assert not is_open(other)
    assert not (clone.parent / "home/.local/state").exists()
