"""Unpacks a Debian or Ubuntu package into a folder. Does not install the package, and does not need root."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from penstock_web.local_error import LocalError

from .migrating import say
from .state import folder_lock


def unpack_package(name: str, target: Path) -> Path:
    """Downloads a package and the shared libraries that it needs, and unpacks them into `target`. Returns `target`. apt
    checks the signatures. `target` appears only when it is complete. Raises LocalError.
    """
    with folder_lock(target.parent):
        if not target.is_dir():
            _unpack(name, target)
    return target


def _unpack(name: str, target: Path) -> None:
    if not all(shutil.which(tool) for tool in ("apt-get", "dpkg-deb", "dpkg-query")):
        raise LocalError(f"{name} is not installed, and Penstock can download the package only on Debian or Ubuntu")
    say(f"downloading the package {name} into {target}, once")
    unfinished = target.with_name(target.name + ".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    wanted, seen = [name], {name}
    while wanted:
        libraries = _find_missing_libraries(_download(wanted.pop(), unfinished))
        wanted += [library for library in libraries if library not in seen]
        seen.update(libraries)
    for archive in unfinished.glob("*.deb"):
        _run(["dpkg-deb", "-x", archive, unfinished], unfinished)
    unfinished.rename(target)


def find_library_path(root: Path) -> str:
    """Returns LD_LIBRARY_PATH for unpacked programs in `root`."""
    return ":".join(map(str, (*root.glob("usr/lib/*-linux-gnu*"), root / "usr/lib")))


def _download(name: str, folder: Path) -> Path:
    before = set(folder.glob("*.deb"))
    try:
        _run(["apt-get", "-q", "download", name], folder)
    except LocalError:
        # A new container image has no package lists. Downloading the lists into a private folder does not need root.
        options = _create_private_lists(folder.parent / "apt")
        _run(["apt-get", "-q", *options, "update"], folder)
        _run(["apt-get", "-q", *options, "download", name], folder)
    return next(iter(set(folder.glob("*.deb")) - before))


def _create_private_lists(folder: Path) -> list[str]:
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    return [
        "-o",
        f"Dir::State::lists={folder / 'lists'}",
        "-o",
        f"Dir::Cache={folder / 'cache'}",
        "-o",
        "APT::Sandbox::User=root",
    ]


def _find_missing_libraries(package: Path) -> list[str]:
    """Returns the library packages that a package depends on and that are not installed. If a dependency has
    alternatives, returns only the first alternative.
    """
    depends = _run(["dpkg-deb", "-f", package, "Depends"], package.parent)
    names = [re.split(r"[ (|:]", entry.strip())[0] for entry in depends.split(",")]
    return [name for name in names if name.startswith("lib") and not _is_installed(name)]


def _is_installed(name: str) -> bool:
    query = ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}", name]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout.startswith("ii")


def _run(command: Sequence[str | Path], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise LocalError(f"{command[0]}: {lines[-1]}")
    return done.stdout
