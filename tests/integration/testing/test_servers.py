"""The test server ends with its last user, however that user ends, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from penstock.testing.servers import TestServerError, find_server
from tests.support.testing.projects import left, servers, temporary_files
from tests.support.wait import wait_until

USER = """
from penstock.testing.servers import find_server
server = find_server()
print(server.endpoint_url, flush=True)
input()
"""


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files, which is empty."""
    with temporary_files() as folder:
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        monkeypatch.setenv("TMPDIR", str(folder))
        yield folder


def nothing_is_left(temporary: Path) -> bool:
    return not left(temporary) and not servers(temporary)


@pytest.mark.slow
def test_all_who_come_at_once_get_one_server_until_the_last_has_gone(temporary: Path) -> None:
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda _: find_server(), range(3)))
    assert len({server.endpoint_url for server in found}) == 1
    assert len({server.account().account_id for server in found}) == 3
    for server in found[:2]:
        server.close()
    assert httpx.get(f"{found[2].endpoint_url}/livez").status_code == 200
    assert len(servers(temporary)) == 1
    found[2].close()
    wait_until(lambda: nothing_is_left(temporary))


def test_nothing_is_left_of_a_user_that_was_killed(temporary: Path) -> None:
    command = [sys.executable, "-c", USER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout is not None
        assert httpx.get(f"{user.stdout.readline().strip()}/livez").status_code == 200
        user.send_signal(signal.SIGKILL)
    wait_until(lambda: nothing_is_left(temporary))


@pytest.mark.slow
def test_nothing_is_left_of_a_server_that_was_killed_and_the_next_user_has_another(temporary: Path) -> None:
    first = find_server()
    (process,) = servers(temporary)
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: left(temporary) == ["socket"])
    second = find_server()
    assert httpx.get(f"{second.endpoint_url}/livez").status_code == 200
    first.close()
    second.close()
    wait_until(lambda: nothing_is_left(temporary))


def test_a_server_that_cannot_start_says_why(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = temporary / "broken/penstock_web/testing"
    broken.mkdir(parents=True)
    (broken.parent / "__init__.py").touch()
    (broken / "__init__.py").write_text("raise SystemExit('there is no PostgreSQL')")
    monkeypatch.setenv("PYTHONPATH", str(temporary / "broken"))
    with pytest.raises(TestServerError, match="log ends with: there is no PostgreSQL"):
        find_server()
