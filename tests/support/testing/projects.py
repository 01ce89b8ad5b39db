"""Creates a user's project whose tests use the fixtures, and a folder for their test server's temporary files."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The environment of an application's tests, which must not affect the test server.
FOREIGN_VARIABLES = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/production",
    "PGHOST": "127.0.0.1",
    "PGPORT": "1",
    "PGOPTIONS": "-c default_transaction_read_only=on",
    "QUEUE_ACCESS": "sigv4",
    "QUEUE_REGION": "nowhere",
    "PYTHONWARNINGS": "error",
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
}


@contextmanager
def temporary_files() -> Iterator[Path]:
    """Yields a folder for TMPDIR. The folder's path is short enough for a socket, and PostgreSQL's user can enter
    it.
    """
    with tempfile.TemporaryDirectory(prefix="kit-", dir="/tmp", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        yield Path(name)


def run_tests(project: Path, temporary: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs pytest in the project like its user, without the settings of this project's tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    (project / "pytest.ini").write_text(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
    )
    return subprocess.run(
        command,
        cwd=project,
        env={**os.environ, **FOREIGN_VARIABLES, "TMPDIR": str(temporary), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def left(temporary: Path) -> list[str]:
    """Returns the names of a test server's remaining files, except for a folder with its lock and its log."""
    return sorted(
        path.name
        for pattern in ("penstock-*", "penstock-tests-*/socket")
        for path in temporary.glob(pattern)
        if not path.name.startswith("penstock-tests-")
    )


def servers(temporary: Path) -> list[int]:
    """Returns the processes of test servers in the given folder."""
    done = subprocess.run(
        ["pgrep", "-f", f"penstock_web.testing {temporary}/"], capture_output=True, text=True, check=False
    )
    return [int(line) for line in done.stdout.split()]
