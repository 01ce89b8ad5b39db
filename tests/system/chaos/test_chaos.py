"""Tests `make chaos` and `make ha` (docs/explain/reliability.md), without root."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.support.chaos.campaign import play
from tests.support.chaos.faults import QUICK
from tests.support.chaos.ha import connect_writable
from tests.support.chaos.servers import running_servers
from tests.support.chaos.summary import ROOT, RUNS
from tests.support.database import Database
from tests.support.wait import wait_until

# --- chaos -----------------------------------------------------------------------------------------------------------
# `make test` omits this test, because CI runs `make chaos` for a minute.

NAMES = ("kill_service", "kill_database", "kill_backend", "swallow_connections", "halve_answers")


@pytest.mark.slow
def test_nothing_is_lost() -> None:
    faults = [fault for fault in QUICK if fault.name in NAMES]
    with running_servers(QUEUE_DATABASE_CALL_TIMEOUT_MS="1000") as servers:
        report = play(servers, faults, random.Random(1), 600, patient=False)
    assert (report.violations, report.errors) == ({}, [])
    assert sum(report.faults.values()) == len(NAMES)
    assert report.acknowledged > 100


# --- ha --------------------------------------------------------------------------------------------------------------

PATRONI = ROOT / ".tools/ha/bin/patroni"


def writes(database: Database, accepted: bool) -> None:
    allowed = psycopg.conninfo.make_conninfo(database.dsn, options="-c default_transaction_read_only=off")
    with psycopg.connect(allowed, autocommit=True) as connection:
        name = connection.info.dbname
        only = "off" if accepted else "on"
        connection.execute(f'alter database "{name}" set default_transaction_read_only = {only}'.encode())


def test_a_server_that_accepts_no_writes_yet_is_asked_again(database: Database) -> None:
    """Source: PostgreSQL documentation, "Database Connection Control Functions", target_session_attrs."""
    writes(database, accepted=False)
    dsn = psycopg.conninfo.make_conninfo(database.dsn, target_session_attrs="read-write")
    with pytest.raises(psycopg.OperationalError, match="read-only"):
        connect_writable(dsn, 0)
    with connect_writable(dsn, pause=lambda _: writes(database, accepted=True)) as connection:
        assert connection.execute("show transaction_read_only").fetchone() == ("off",)


def commands(words: str) -> dict[int, str]:
    """Returns the command lines that contain the given words, by process id."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # The process has ended.
                continue
            if words in command:
                found[int(process.name)] = command
    return found


@pytest.mark.slow
@pytest.mark.skipif(not PATRONI.exists(), reason="Patroni comes with `make .tools/ha/bin/patroni`")
def test_sigterm_ends_etcd_patroni_and_postgresql(tmp_path: Path) -> None:
    recorded = RUNS.read_text()
    with (tmp_path / "log").open("wb") as log:
        run = subprocess.Popen([sys.executable, "-m", "tests.support.chaos.ha"], cwd=ROOT, stdout=log, stderr=log)
    folders: set[str] = set()

    def has_started() -> bool:
        assert run.poll() is None, (tmp_path / "log").read_text()
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        etcd = [text for pid, text in commands("--data-dir ").items() if str(pid) in children]
        folders.update(text.split("--data-dir ")[1].split()[0].removesuffix("/etcd") for text in etcd)
        return any(" -D " in text for folder in folders for text in commands(folder).values())

    try:
        wait_until(has_started)
    finally:
        run.terminate()
    assert run.wait(120) == 128 + signal.SIGTERM
    (folder,) = folders
    left = commands(folder)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == {}
    assert RUNS.read_text() == recorded
