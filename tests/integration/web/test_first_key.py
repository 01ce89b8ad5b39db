"""--first-key: with QUEUE_ACCESS=sigv4 an installation starts with one key, which is shown once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from penstock_web.cli import main
from penstock_web.local.postgres import free_port
from tests.support.conformance.access_keys import SIGV4, key_ring, new_key, revoke
from tests.support.database import Database

COMMAND = [sys.executable, "-m", "penstock_web.cli"]
MIGRATE = ["migrate", "--first-key"]


def shown(text: str) -> list[str]:
    """Ids of the keys that a log shows."""
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith("AWS_ACCESS_KEY_ID=")]


def stored(database: Database) -> list[str]:
    with key_ring(database) as ring:
        return [line.split()[1] for line in list(ring.list_keys())[1:]]


def variables(database: Database, **more: str) -> dict[str, str]:
    return {**os.environ, **SIGV4, "DATABASE_URL": database.api_dsn, "DATABASE_DIRECT_URL": "", **more}


def test_processes_that_start_at_once_make_one_key(empty_database: Database) -> None:
    """Tasks of ECS do, of which each migrates first."""
    started = [
        subprocess.Popen(
            [*COMMAND, *MIGRATE], stdout=subprocess.PIPE, text=True, env=variables(empty_database)
        )
        for _ in range(4)
    ]
    outputs = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4
    assert [key for output in outputs for key in shown(output)] == stored(empty_database)
    assert len(stored(empty_database)) == 1


def test_a_key_that_was_revoked_is_not_replaced(
    database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in variables(database).items():
        monkeypatch.setenv(name, value)
    key, _ = new_key(database, "111122223333")
    revoke(database, key)
    assert (main(MIGRATE), shown(capsys.readouterr().out)) == (0, [])
    assert stored(database) == [key]


@pytest.mark.parametrize("access", ["off", "presence"])
def test_who_verifies_nothing_needs_no_key(
    access: str, database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in variables(database, QUEUE_ACCESS=access, QUEUE_ENCRYPTION_KEY="").items():
        monkeypatch.setenv(name, value)
    assert (main(MIGRATE), shown(capsys.readouterr().out)) == (0, [])
    assert stored(database) == []


@pytest.mark.parametrize("command", [MIGRATE, ["up", "--host", "0.0.0.0", "--first-key"]])
def test_without_an_encryption_key_nothing_starts(command: list[str], database: Database) -> None:
    """As the image does without settings: it says what is missing."""
    port = [] if command is MIGRATE else ["--port", str(free_port())]
    done = subprocess.run(
        [*COMMAND, *command, *port],
        capture_output=True,
        text=True,
        check=False,
        env=variables(database, QUEUE_ENCRYPTION_KEY=""),
    )
    assert done.returncode == 1
    assert done.stderr == (
        "penstock: QUEUE_ACCESS=sigv4 needs QUEUE_ENCRYPTION_KEY, which `openssl rand -base64 32` makes; "
        "QUEUE_ACCESS=off admits every caller\n"
    )
