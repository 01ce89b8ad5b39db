"""The archive for executors: what the job imports of ours is in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from jobs.queue_metrics.spark.package import write_package


def test_the_job_can_be_imported_from_it_alone(tmp_path: Path) -> None:
    archive = write_package(tmp_path / "queue_metrics.zip")
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); from jobs.queue_metrics import main; import penstock;"
        " print(main.__file__, penstock.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        f"{archive}/jobs/queue_metrics/main.py",
        f"{archive}/penstock/__init__.py",
    ]


def test_it_holds_code_only(tmp_path: Path) -> None:
    with ZipFile(write_package(tmp_path / "queue_metrics.zip")) as archive:
        names = archive.namelist()
    assert all(name.endswith(".py") for name in names)
    assert {"jobs/__init__.py", "jobs/queue_metrics/submit.py"} <= set(names)
    assert len(names) == len(set(names))
