"""The archive for executors: what the job imports of ours is in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from penstock_metrics.spark.package import write_package


def test_the_job_can_be_imported_from_it_alone(tmp_path: Path) -> None:
    archive = write_package(tmp_path / "penstock_metrics.zip")
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); from penstock_metrics import main; import penstock;"
        " print(main.__file__, penstock.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        f"{archive}/penstock_metrics/main.py",
        f"{archive}/penstock/__init__.py",
    ]


def test_it_holds_code_only(tmp_path: Path) -> None:
    with ZipFile(write_package(tmp_path / "penstock_metrics.zip")) as archive:
        names = archive.namelist()
    assert all(name.endswith(".py") for name in names)
    assert {"penstock/__init__.py", "penstock_metrics/submit.py"} <= set(names)
    assert len(names) == len(set(names))
