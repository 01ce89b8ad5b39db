"""Tests the images from `make image`, which buildah starts without an engine: `make test-image`.

With isolation `chroot`, buildah gives a container a separate file system, user and environment, but the host's
processes and network. The tests therefore end a container's process by its id.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from penstock_web.local.postgres import free_port, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.wait import wait_until

pytestmark = pytest.mark.image
BUILDAH = {**os.environ, "STORAGE_DRIVER": os.environ.get("STORAGE_DRIVER", "vfs"), "BUILDAH_ISOLATION": "chroot"}
USER = 10001
READY = ("penstock ready on", '"message": "started"')


def buildah(*arguments: str) -> str:
    done = subprocess.run(["buildah", *arguments], env=BUILDAH, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@dataclass
class Container:
    """A started container. `output` contains the container's output until it was ready."""

    process: subprocess.Popen[str]
    port: int
    output: str = ""

    @property
    def pid(self) -> int:
        """Returns `penstock`'s process id from its start record in the log."""
        (record,) = (line for line in self.output.splitlines() if '"message": "started"' in line)
        return int(json.loads(record)["pid"])

    @property
    def key(self) -> dict[str, str]:
        """Returns the first key as boto3's arguments."""
        said = dict(line.split("=", 1) for line in self.output.splitlines() if line.startswith("AWS_"))
        return {name.lower(): value for name, value in said.items()}

    def sqs(self, key: Mapping[str, str]) -> Any:
        address = f"http://127.0.0.1:{self.port}"
        return boto3.client("sqs", endpoint_url=address, region_name="us-east-1", **key)

    def end(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)
        self.process.communicate(timeout=60)


@contextmanager
def started(image: str, volume: Path | None = None, **variables: str) -> Iterator[Container]:
    """Runs the image's command on a free port, and waits until it is ready."""
    name = buildah("from", image)
    config = json.loads(buildah("inspect", "--type", "image", image))["Docker"]["config"]
    port = free_port()
    environment = {"QUEUE_ADDRESS": f"0.0.0.0:{port}", **variables}
    options = [f"--env={key}={value}" for key, value in environment.items()]
    if volume:
        options.append(f"--volume={volume}:/var/lib/penstock")
    command = ["buildah", "run", *options, name, "--", *config["Entrypoint"], *config["Cmd"]]
    container = Container(
        subprocess.Popen(command, env=BUILDAH, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True), port
    )
    try:
        assert container.process.stdout is not None
        for line in container.process.stdout:
            container.output += line
            if all(text in container.output for text in READY):
                break
        else:
            pytest.fail(f"it ended:\n{container.output}")
        yield container
    finally:
        if container.process.poll() is None:
            with suppress(ValueError):
                os.kill(container.pid, signal.SIGKILL)
            container.process.kill()
            container.process.communicate()
        buildah("rm", name)


def server_of(volume: Path) -> int | None:
    """Returns the process id of the running PostgreSQL that uses the volume."""
    with suppress(OSError):
        pid = int((volume / "postgres/data/postmaster.pid").read_text().split("\n", 1)[0])
        os.kill(pid, 0)
        return pid
    return None


def wait_for_end(pid: int) -> None:
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    """Makes a volume whose owner is the owner of the image's folder, as an engine does."""
    path = tmp_path / "volume"
    path.mkdir()
    os.chown(path, USER, USER)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)
    yield path
    if pid := server_of(volume=path):
        os.kill(pid, signal.SIGQUIT)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def database() -> Iterator[str]:
    with ephemeral_state() as state, running_postgres(state, SystemAccount.choose()) as server:
        yield server.service_dsn()


def send(sqs: Any, body: str) -> str:
    url: str = sqs.create_queue(QueueName="orders")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=body)
    return url


def receive(sqs: Any, url: str) -> list[str]:
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=5).get("Messages", [])
    for message in found:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return [message["Body"] for message in found]


def test_alone_it_is_closed_and_keeps_its_data(volume: Path) -> None:
    """The container keeps its data after a stop. The container also keeps its data after SIGKILL of all its processes,
    when another program has the server's process id.
    """
    with started("localhost/penstock:alone", volume) as first:
        key = first.key
        sqs = first.sqs(key)
        url = send(sqs, "one")
        with pytest.raises(ClientError) as refused:
            first.sqs({"aws_access_key_id": "x", "aws_secret_access_key": "x"}).list_queues()
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
        server = server_of(volume)
        assert server is not None
        first.end(signal.SIGTERM)
        wait_for_end(server)
    with started("localhost/penstock:alone", volume) as second:
        assert not second.key
        assert receive(second.sqs(key), url.replace(str(first.port), str(second.port))) == ["one"]
        send(second.sqs(key), "two")
        server = server_of(volume)
        assert server is not None
        os.kill(second.pid, signal.SIGKILL)
        os.kill(server, signal.SIGKILL)
        wait_for_end(server)
        second.process.communicate(timeout=60)
    pid_file = volume / "postgres/data/postmaster.pid"
    lines = pid_file.read_text().split("\n")
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))
    with started("localhost/penstock:alone", volume) as third:
        assert receive(third.sqs(key), url.replace(str(first.port), str(third.port))) == ["two"]
        third.end(signal.SIGTERM)


@pytest.mark.parametrize("image", ["localhost/penstock:alone", "localhost/penstock"])
def test_with_a_database(image: str, database: str, volume: Path) -> None:
    """The container uses only that database. The production image needs a separate migration."""
    key = b64encode(secrets.token_bytes(32)).decode()
    variables = {"DATABASE_URL": database, "QUEUE_ENCRYPTION_KEY": key}
    if image.endswith("penstock"):
        name = buildah("from", image)
        options = [f"--env={key}={value}" for key, value in variables.items()]
        assert "applied" in buildah("run", *options, name, "--", "penstock", "migrate")
        buildah("rm", name)
    with started(image, volume, **variables) as container:
        sqs = container.sqs(container.key)
        assert receive(sqs, send(sqs, "hello")) == ["hello"]
        assert list(volume.iterdir()) == []
        container.end(signal.SIGTERM)


def test_the_image_for_production_wants_a_database() -> None:
    name = buildah("from", "localhost/penstock")
    command = ["buildah", "run", name, "--", "penstock", "up", "--host", "0.0.0.0"]
    done = subprocess.run(command, env=BUILDAH, capture_output=True, text=True, check=False)
    buildah("rm", name)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("penstock: ")]
    assert "DATABASE_URL" in said[-1], done.stderr
