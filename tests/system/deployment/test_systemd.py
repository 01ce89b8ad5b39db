"""Runs the commands of docs/operate/systemd.md as root under a running systemd.

systemd is process 1 of new namespaces. It has a copy of /etc, empty folders /opt and /run, and only the units of the
page, of the journal and of this module. The cgroups have no controllers, so systemd does not apply MemoryMax.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event, Thread
from urllib.request import urlopen

import boto3
import pytest
from hatchling.builders.wheel import WheelBuilder

from penstock_web.local.postgres import free_port
from tests.support.database import Database
from tests.support.deployment.page import blocks, commands
from tests.support.functions.server import ROOT
from tests.support.wait import wait_until

SYSTEMD, CGROUP = Path("/lib/systemd/systemd"), Path("/sys/fs/cgroup/systemd")
pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to create namespaces"),
    pytest.mark.skipif(
        not SYSTEMD.exists() or not CGROUP.is_dir(), reason="needs systemd and its own cgroup hierarchy"
    ),
]
PAGE = (ROOT / "docs/operate/systemd.md").read_text()
# Targets that units name in their dependencies. Those of the machine would start other services.
TARGETS = {
    "default": "Requires=multi-user.target",
    "multi-user": "Requires=basic.target\nAfter=basic.target",
    "basic": "Requires=sysinit.target\nAfter=sysinit.target",
    "sysinit": "DefaultDependencies=no\nWants=systemd-journald.service",
    "shutdown": "DefaultDependencies=no",
    "network-online": "DefaultDependencies=no",
}
NAMESPACES = ("--pid", "--mount", "--uts", "--ipc", "--cgroup")
START = """
set -e
mount --make-rprivate /
for place in etc opt; do mount --bind "$FOLDER/$place" /$place; done
for place in /run /var/log /etc/systemd/system /sys/fs/cgroup; do mount -t tmpfs tmpfs $place; done
mkdir -p /run/systemd/system /sys/fs/cgroup/systemd
mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
exec env -i PATH="$PATH" container=other SYSTEMD_UNIT_PATH="/etc/systemd/system:$FOLDER/units" \
    /lib/systemd/systemd --system --log-target=console --show-status=0
"""


def page_commands(beginning: str) -> list[str]:
    """Returns the page's commands from the first one that begins so to the end of its block."""
    for block in blocks(PAGE):
        found = list(commands(block))
        for number, command in enumerate(found):
            if command.startswith(beginning):
                return found[number:]
    raise AssertionError(beginning)


class Machine:
    """Runs commands in the namespaces of a process 1."""

    def __init__(self, pid: int, folder: Path, replaced: dict[str, str]) -> None:
        self._enter = [
            "nsenter",
            "--target",
            str(pid),
            *NAMESPACES,
            f"--wdns={folder}",
        ]
        self._replaced = replaced

    def run(self, command: str) -> str:
        """Runs a command of the page. The command must succeed. Returns its output."""
        for old, new in self._replaced.items():
            command = re.sub(rf"\b{re.escape(old)}\b", new.replace("\\", r"\\"), command)
        script = f'sudo() {{ "$@"; }}\n{command}'
        done = subprocess.run(
            [*self._enter, "bash", "-euo", "pipefail", "-c", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout

    def show(self, unit: str, value: str) -> str:
        return self.run(f"systemctl show {unit} --property {value} --value").strip()


@pytest.fixture
def ports() -> tuple[int, int]:
    return free_port(), free_port()


@pytest.fixture
def machine(tmp_path: Path, database: Database, ports: tuple[int, int]) -> Iterator[Machine]:
    shutil.copytree("/etc", tmp_path / "etc", symlinks=True)
    for place in ("opt", "units", "dist"):
        (tmp_path / place).mkdir()
    for name, lines in TARGETS.items():
        (tmp_path / f"units/{name}.target").write_text(f"[Unit]\n{lines}\n")
    for unit in SYSTEMD.parent.glob("system/systemd-journald*"):
        if unit.is_file():
            shutil.copy(unit, tmp_path / "units")
    list(WheelBuilder(str(ROOT)).build(directory=str(tmp_path / "dist"), versions=["standard"]))
    replaced = {
        "python3 -m venv": "/usr/bin/python3 -m venv",  # pyenv's Python is in the home folder, which the unit hides
        "postgresql://penstock:owners-password@127.0.0.1:5432/penstock": database.api_dsn,
        "END\nDATABASE_URL": f"END\nQUEUE_ADDRESS=127.0.0.1:{ports[0]}\nDATABASE_URL",
        "9324": str(ports[0]),
        "9325": str(ports[1]),
    }
    group = CGROUP / tmp_path.name
    group.mkdir()
    unshare = shlex.join(["unshare", "--fork", "--kill-child", *NAMESPACES, "--mount-proc"])
    enter = f'echo $$ >{group}/cgroup.procs; exec {unshare} bash -c "$START"'
    environment = {"PATH": os.environ["PATH"], "FOLDER": str(tmp_path), "START": START}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            ["bash", "-c", enter], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: process.poll() is None and children.read_text().strip())
        pid = int(children.read_text())
        wait_until(lambda: Path(f"/proc/{pid}/comm").read_text() == "systemd\n")
        wait_until(lambda: Path(f"/proc/{pid}/root/run/systemd/private").exists())
        yield Machine(pid, tmp_path, replaced)
    finally:
        process.kill()
        process.wait()
        wait_until(lambda: remove_groups(group))


def remove_groups(group: Path) -> bool:
    """Removes a cgroup without processes, and the cgroups in it. Returns whether it is gone."""
    try:
        for folder, _, _ in os.walk(group, topdown=False):
            Path(folder).rmdir()
    except OSError:  # A process has not ended yet.
        return False
    return not group.exists()


def is_ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def send_and_receive(port: int, key: dict[str, str]) -> None:
    sqs = boto3.client(
        "sqs", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1",
        aws_access_key_id=key["AWS_ACCESS_KEY_ID"], aws_secret_access_key=key["AWS_SECRET_ACCESS_KEY"],
    )  # fmt: skip
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    sqs.close()


def find_gaps(ports: tuple[int, int], work: Callable[[], object]) -> list[float]:
    """Does the work. Returns the moments at which no port was ready meanwhile."""
    ended, gaps = Event(), []

    def watch() -> None:
        while not ended.wait(0.02):
            if not any(map(is_ready, ports)):
                gaps.append(time.monotonic())

    thread = Thread(target=watch)
    thread.start()
    try:
        work()
    finally:
        ended.set()
        thread.join()
    return gaps


def test_systemd_runs_the_service_and_two_instances_of_it(machine: Machine, ports: tuple[int, int]) -> None:
    for command in (*page_commands("sudo python3 -m venv"), *page_commands("sudo install -d")):
        machine.run(command)
    wait_until(lambda: is_ready(ports[0]))
    printed = machine.run("journalctl -u penstock -o cat | grep ^AWS_")
    key = dict(line.split("=", 1) for line in printed.splitlines())
    send_and_receive(ports[0], key)
    machine.run("systemctl kill --signal SIGKILL penstock")
    wait_until(lambda: machine.show("penstock", "NRestarts") == "1" and is_ready(ports[0]))
    send_and_receive(ports[0], key)
    assert "PENSTOCK_TOKEN=" in machine.run(page_commands("sudo sh -c")[0])

    for command in page_commands("/opt/penstock/bin/penstock systemd penstock@.service"):
        machine.run(command)
    assert machine.show("penstock", "Result") == "success"
    wait_until(lambda: all(map(is_ready, ports)))
    (restart,) = page_commands("for port in")
    assert find_gaps(ports, partial(machine.run, restart)) == []
    for port in ports:
        send_and_receive(port, key)
        assert machine.show(f"penstock@{port}", "NRestarts") == "0"
