"""Starts, switches over, kills and stops three PostgreSQL servers under Patroni, and etcd, all on 127.0.0.1.

Patroni comes from requirements/ha.lock. etcd comes from PATH or, on Debian and Ubuntu, from a package that needs no
root. Clients list all members in one address with target_session_attrs=read-write.
"""

import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any, Final

import httpx
import psycopg

from penstock_web.local.binaries import Binaries, find_accessible_binaries, find_binaries
from penstock_web.local.debian import find_library_path, unpack_package
from penstock_web.local.pgbouncer import account_cache
from penstock_web.local.postgres import free_port
from penstock_web.local.system_account import SystemAccount
from penstock_web.local_error import LocalError

MEMBERS: Final = 3
_START_SECONDS: Final = 90
_PATRONI: Final = Path(__file__).parents[3] / ".tools/ha/bin/patroni"
_TEMPLATE: Final = Path(__file__).with_name("patroni.yml.tmpl")


@dataclass
class Member:
    """Represents a PostgreSQL server and its Patroni. `process` is Patroni."""

    name: str
    folder: Path
    port: int = field(default_factory=free_port)
    rest_port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def pids(self) -> list[int]:
        """Returns the process ids of Patroni, the postmaster and its children."""
        found = [self.process.pid] if self.process else []
        with suppress(OSError, ValueError):
            postmaster = int((self.folder / "data/postmaster.pid").read_text().split("\n")[0])
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
            found += [postmaster, *map(int, children)]
        return found

    def signal(self, number: signal.Signals) -> None:
        """Sends the signal to all processes of the member."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)


@dataclass
class Cluster:
    """A running cluster. With `synchronous`, a commit waits for a standby."""

    folder: Path
    account: SystemAccount
    binaries: Binaries
    etcd_port: int
    synchronous: bool
    password: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    members: list[Member] = field(default_factory=list)

    def dsn(self, user: str = "postgres", database: str = "postgres", **options: str) -> str:
        """Returns an address that connects to the current primary."""
        return psycopg.conninfo.make_conninfo(
            host=",".join(["127.0.0.1"] * len(self.members)),
            port=",".join(str(member.port) for member in self.members),
            user=user,
            password=self.password,
            dbname=database,
            target_session_attrs="read-write",
            **options,
        )

    def start(self, member: Member) -> None:
        """Starts the member's Patroni, which starts PostgreSQL. The server joins as a standby if the cluster has a
        primary.
        """
        text = Template(_TEMPLATE.read_text()).substitute(
            name=member.name,
            rest_port=member.rest_port,
            etcd_port=self.etcd_port,
            synchronous=str(self.synchronous).lower(),
            port=member.port,
            folder=member.folder,
            binaries=self.binaries.directory,
            password=self.password,
        )
        configuration = self.account.write(member.folder / "patroni.yml", text)
        log = self.account.write(member.folder / "log", "")
        with log.open("ab") as output:
            member.process = self.account.start([_PATRONI, configuration], output=output)

    def primary(self) -> Member | None:
        """Returns the member that reports itself as the primary, or None."""
        return next((member for member in self.members if _status(member, "primary") == 200), None)

    def wait_for(self, standbys: int) -> Member:
        """Waits for a primary with the given number of standbys, and returns the primary."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            primary = self.primary()
            path = "synchronous" if self.synchronous else "replica"
            following = sum(_status(member, "replica") == 200 for member in self.members)
            ready = any(_status(member, path) == 200 for member in self.members)
            if primary and following >= standbys and (ready or not standbys):
                return primary
            time.sleep(0.2)
        raise LocalError(f"the cluster has no primary with {standbys} standbys; see {self.folder}/*/log")

    def switch_over(self) -> Member:
        """Switches the primary's role over through Patroni. Returns the former primary."""
        primary = self.wait_for(1)
        response = httpx.post(
            f"http://127.0.0.1:{primary.rest_port}/switchover", json={"leader": primary.name}, timeout=60
        )
        if response.status_code != 200:
            raise LocalError(f"no switch-over: {response.text}")
        return primary


def _status(member: Member, path: str) -> int:
    try:
        return httpx.get(f"http://127.0.0.1:{member.rest_port}/{path}", timeout=2).status_code
    except httpx.HTTPError:
        return 0


@contextmanager
def running_cluster(folder: Path, account: SystemAccount, synchronous: bool) -> Iterator[Cluster]:
    """Yields a cluster after all standbys have caught up, and kills all processes at the end. Raises LocalError."""
    binaries = find_accessible_binaries(find_binaries(), account)
    if not account.can_run(_PATRONI):
        raise LocalError(f"PostgreSQL's user cannot run {_PATRONI}: put the checkout where that user can read it")
    with _running_etcd(folder, account) as etcd_port:
        cluster = Cluster(folder, account, binaries, etcd_port, synchronous)
        try:
            for number in range(MEMBERS):
                home = account.create_private_folder(folder / f"member-{number}")
                cluster.members.append(Member(f"member-{number}", home))
                cluster.start(cluster.members[-1])
                cluster.wait_for(0)
            cluster.wait_for(MEMBERS - 1)
            yield cluster
        finally:
            for member in cluster.members:
                member.signal(signal.SIGCONT)
                member.signal(signal.SIGKILL)
                if member.process:
                    member.process.wait()


@contextmanager
def _running_etcd(folder: Path, account: SystemAccount) -> Iterator[int]:
    program, environment = _find_etcd(account)
    home = account.create_private_folder(folder / "etcd")
    port, peer_port = free_port(), free_port()
    urls = {
        "listen-client-urls": f"http://127.0.0.1:{port}",
        "advertise-client-urls": f"http://127.0.0.1:{port}",
        "listen-peer-urls": f"http://127.0.0.1:{peer_port}",
        "initial-advertise-peer-urls": f"http://127.0.0.1:{peer_port}",
        "initial-cluster": f"default=http://127.0.0.1:{peer_port}",
        "data-dir": str(home),
    }
    log = account.write(folder / "etcd.log", "")
    with log.open("ab") as output:
        command: list[Any] = [program, *(part for name, value in urls.items() for part in (f"--{name}", value))]
        process = account.start(command, output=output, environment=environment)
    try:
        _wait_for_etcd(port, log)
        yield port
    finally:
        process.kill()
        process.wait()


def _find_etcd(account: SystemAccount) -> tuple[Path, dict[str, str]]:
    if installed := shutil.which("etcd"):
        return Path(installed), {}
    root = unpack_package("etcd-server", account_cache(account) / "etcd")
    return root / "usr/bin/etcd", {"LD_LIBRARY_PATH": find_library_path(root)}


def _wait_for_etcd(port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        with suppress(httpx.HTTPError):
            if httpx.get(f"http://127.0.0.1:{port}/health", timeout=2).json().get("health") == "true":
                return
        time.sleep(0.1)
    raise LocalError(f"etcd did not start; see {log}")
