"""The encryption key of an installation that runs its own database."""

from __future__ import annotations

import os
from base64 import b64decode
from pathlib import Path

import pytest

from penstock.settings import Settings
from penstock_web.local.encryption_key import with_encryption_key
from penstock_web.local.postgres import forget_other_process

CLOSED = Settings.read({"QUEUE_ACCESS": "sigv4"})
OPEN = Settings.read({"QUEUE_ACCESS": "off"})


def test_it_is_made_once_and_used_from_then_on(tmp_path: Path) -> None:
    """Also when access is off later: encrypted texts must stay readable."""
    assert with_encryption_key(OPEN, tmp_path) == OPEN
    key = with_encryption_key(CLOSED, tmp_path).queue_encryption_key
    assert len(b64decode(key)) == 32
    assert [with_encryption_key(settings, tmp_path).queue_encryption_key for settings in (CLOSED, OPEN)] == [
        key,
        key,
    ]
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_key_that_is_set_stays(tmp_path: Path) -> None:
    settings = CLOSED.replace(queue_encryption_key="mine")
    assert with_encryption_key(settings, tmp_path) == settings
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("pid", "stays"), [("self", False), ("nobody", True), ("no number", True)])
def test_the_file_of_a_killed_server_goes_when_another_program_has_its_id(
    tmp_path: Path, pid: str, stays: bool
) -> None:
    file = tmp_path / "postmaster.pid"
    file.write_text({"self": str(os.getpid()), "nobody": str(2**22 + 1)}.get(pid, pid) + "\n/data\n")
    forget_other_process(file)
    assert file.exists() is stays
