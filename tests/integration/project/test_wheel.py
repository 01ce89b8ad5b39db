"""The wheel: what `pip install penstock` gives holds everything that the checkout runs with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[3]
# Where a file of the checkout lies in the wheel.
PLACES = {
    "layers/core/penstock": "penstock",
    "layers/web/penstock_web": "penstock_web",
    "jobs/penstock_metrics": "penstock_metrics",
    "sql": "penstock/sql",
    "infra/pgbouncer": "penstock_web/local",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contents of the wheel, built by the backend that pip uses."""
    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def expected() -> set[str]:
    """By git, which knows neither caches nor what was left lying about."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PLACES],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    files = set()
    for name in listed.stdout.split():
        source = next(source for source in PLACES if name.startswith(f"{source}/"))
        files.add(PLACES[source] + name.removeprefix(source))
    return files


def test_the_wheel_holds_every_file(installed: Path) -> None:
    """Code, SQL, and what `penstock up` starts PgBouncer with; nothing else."""
    names = {str(file.relative_to(installed)) for file in installed.rglob("*") if file.is_file()}
    assert {name for name in names if ".dist-info/" not in name} == expected()
    assert {"penstock_web/local/auth_query.sql", "penstock_web/local/pgbouncer.ini.tmpl"} < names
    assert "penstock/sql/grants.sql" in names


def test_what_is_installed_finds_its_own_files(installed: Path) -> None:
    """Not those of a checkout beside it: the wheel is first on the path here."""
    code = (
        "from penstock.postgres import migrations; from penstock_web.local import pgbouncer\n"
        "names = ('auth_query.sql', 'pgbouncer.ini.tmpl')\n"
        "print(migrations.sql_directory(), *map(pgbouncer._configuration_file, names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=installed,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [Path(word) for word in done.stdout.split()]
    assert len(paths) == 3
    assert all(path.is_relative_to(installed) and path.exists() for path in paths)
