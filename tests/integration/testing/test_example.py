"""The example project of examples/pytest_project, as a user runs it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.testing.projects import run_tests, temporary_files

EXAMPLE = Path(__file__).parents[3] / "examples/pytest_project"


@pytest.mark.slow
def test_its_tests_pass(tmp_path: Path) -> None:
    for file in EXAMPLE.glob("*.py"):
        shutil.copy(file, tmp_path)
    with temporary_files() as temporary:
        done = run_tests(tmp_path, temporary)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "3 passed" in done.stdout
