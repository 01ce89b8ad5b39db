"""Packs the code that executors on other machines need: `python -m penstock_metrics.spark.package FILE`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

import penstock
import penstock_metrics
import penstock_web

PACKAGES: Final = (penstock, penstock_web, penstock_metrics)


def write_package(path: Path) -> Path:
    """Writes the archive for `--py-files` of spark-submit, without the packages in requirements/metrics.lock."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, source in sorted(list_sources()):
            archive.write(source, name)
    return path


def list_sources() -> Iterator[tuple[str, Path]]:
    """Yields pairs of a name in the archive and a file."""
    for folder in list_folders():
        yield from ((str(path.relative_to(folder.parent)), path) for path in folder.rglob("*.py"))


def list_folders() -> list[Path]:
    """Returns the folders of the packages that executors import."""
    return [Path(str(package.__file__)).parent for package in PACKAGES]


if __name__ == "__main__":
    print(write_package(Path(sys.argv[1])))
