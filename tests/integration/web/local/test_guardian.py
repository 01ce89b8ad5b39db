"""What a killed `penstock up --ephemeral` leaves behind: nothing."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock_web.local.processes import command_line
from tests.support.programs.penstock_up import running
from tests.support.wait import wait_until


@pytest.fixture
def parent() -> Iterator[Path]:
    """A folder that PostgreSQL's user can enter."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


def processes_of(folder: str) -> set[int]:
    """Ids of processes whose command names the folder."""
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return {number for number in numbers if folder in command_line(number)}


def test_nothing_is_left_when_it_is_killed(parent: Path) -> None:
    """Also where a shell has started it in the background, with SIGQUIT and SIGINT ignored."""
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    try:
        check_that_nothing_is_left(parent)
    finally:
        signal.signal(signal.SIGQUIT, before)


def check_that_nothing_is_left(parent: Path) -> None:
    with running("--ephemeral", TMPDIR=str(parent)) as up:
        (folder,) = (path for path in parent.iterdir() if path.name.startswith("penstock-"))
        started = processes_of(str(folder))
        names = {command_line(number).partition("\0")[0].rpartition("/")[2] for number in started}
        assert {"postgres", "pgbouncer"} <= names
        up.end(signal.SIGKILL)
        wait_until(lambda: not folder.exists() and not processes_of(str(folder)))


def test_an_orderly_end_needs_no_guardian(parent: Path) -> None:
    with running("--ephemeral", TMPDIR=str(parent)) as up:
        (folder,) = (path for path in parent.iterdir() if path.name.startswith("penstock-"))
        assert up.end(signal.SIGTERM) == 0
        assert not folder.exists()
        assert processes_of(str(folder)) == set()
