"""The code that executors on other machines need, as one archive: `python -m jobs.queue_metrics.spark.package FILE`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

import penstock
import penstock_web

ROOT: Final = Path(__file__).parents[3]


def write_package(path: Path) -> Path:
    """Writes the archive, for `--py-files` of spark-submit. What it imports is in requirements/metrics.lock."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, source in sorted(sources()):
            archive.write(source, name)
    return path


def sources() -> Iterator[tuple[str, Path]]:
    """(name in the archive, file)."""
    yield "jobs/__init__.py", ROOT / "jobs/__init__.py"
    folders = [Path(str(package.__file__)).parent for package in (penstock, penstock_web)]
    for folder in (ROOT / "jobs/queue_metrics", *folders):
        base = ROOT if folder.is_relative_to(ROOT / "jobs") else folder.parent
        yield from ((str(path.relative_to(base)), path) for path in folder.rglob("*.py"))


if __name__ == "__main__":
    print(write_package(Path(sys.argv[1])))
