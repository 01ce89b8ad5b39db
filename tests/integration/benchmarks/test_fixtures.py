"""The benchmark of the pytest fixtures, as docs/testing.md names it, on a few tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.testing.projects import temporary_files

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_each_kind_is_measured_once_a_round() -> None:
    with temporary_files() as temporary:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.fixtures", "--tests", "2", "--rounds", "1"],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(temporary)},
            capture_output=True,
            text=True,
            check=True,
        )
    lines = done.stdout.splitlines()
    assert [re.sub(r"\s+[\d.]+ s$", "", line) for line in lines] == [
        "round 1 penstock",
        "round 1 moto",
        "round 1 moto, one session of boto3",
    ]
