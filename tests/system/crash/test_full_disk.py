"""Tests a database whose disk is full, with a small file system in memory. Only root can mount one."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from penstock_web.cli import main
from penstock_web.doctor.checks import examine
from penstock_web.local.postgres import ROLE
from penstock_web.local.system_account import SystemAccount
from tests.support.database import TEMPLATE, Database, TestServer
from tests.support.programs.penstock_service import running_service
from tests.support.wait import wait_until
from tests.support.web.prometheus_text import scrape

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")]


@pytest.fixture
def disk() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder], check=False).returncode:
        pytest.skip("this machine mounts no file system")
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


@pytest.fixture
def small(postgres: TestServer, disk: Path) -> Iterator[Database]:
    """A database whose rows are on the small disk. The write-ahead log is elsewhere, so PostgreSQL continues."""
    data = SystemAccount.choose().create_private_folder(disk / "data")
    run = postgres.administration.execute
    run(f"create tablespace small location '{data}'".encode())
    run(f"create database small template {TEMPLATE} strategy file_copy owner {ROLE} tablespace small".encode())
    try:
        server = postgres.server
        yield Database("small", server.superuser_dsn("small"), server.service_dsn("small"), "")
    finally:
        run(b"drop database small with (force)")
        run(b"drop tablespace small")


def fill(disk: Path) -> Path:
    """Writes a file that takes all free space."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return ballast


def test_a_full_disk_is_named_until_it_has_space(
    small: Database, disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_service(small.api_dsn) as service, service.http() as http:
        monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)
        http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
        assert main(["status"]) == 0

        def send() -> int:
            return http.post("/v1/queues/orders/messages", json={"message": "x" * 100_000}).status_code

        assert send() < 300
        ballast = fill(disk)
        wait_until(lambda: send() == 503)
        wait_until(lambda: http.get("/readyz").json() == {"status": "degraded", "writes": "disk full"})
        assert http.get("/readyz").status_code == 200
        found = scrape(service.url)
        assert (found.value("penstock_db_up"), found.value("penstock_db_writable")) == (1, 0)
        capsys.readouterr()
        assert main(["status"]) == 1
        assert "refuses writes: disk full" in capsys.readouterr().out
        outcome = examine({"DATABASE_URL": small.api_dsn})
        assert [finding.problem for finding in outcome.findings if finding.subject == "disk"] == [
            "the disk of the database is full"
        ]
        ballast.unlink()
        wait_until(lambda: http.get("/readyz").json() == {"status": "ok"})
        wait_until(lambda: scrape(service.url).value("penstock_db_writable") == 1)
        assert send() < 300
        assert main(["status"]) == 0
