"""Installs the peers' packages from Debian, npm and PyPI in .tools/peers, without root and only once for all runs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.system import UnavailableError

FOLDER = Path(__file__).resolve().parents[2] / ".tools" / "peers"


def debian(name: str, packages: list[str]) -> Path:
    """Returns the folder that contains the packages' files. Raises UnavailableError if the packages are missing, or on
    systems other than Debian.
    """
    folder = FOLDER / name
    if is_complete(folder, packages):
        return folder
    require("apt-get")
    require("dpkg-deb")
    archives = folder / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    run_command(["apt-get", "download", *packages], archives)
    for archive in archives.glob("*.deb"):
        run_command(["dpkg-deb", "-x", str(archive), str(folder)], folder)
    shutil.rmtree(archives)
    mark_complete(folder, packages)
    return folder


def npm(name: str, packages: list[str]) -> Path:
    """Returns the folder that contains node_modules. Raises UnavailableError."""
    folder = FOLDER / name
    if not is_complete(folder, packages):
        require("npm")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"private": True}))
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        run_command(["npm", "install", *options, *packages], folder)
        mark_complete(folder, packages)
    return folder


def python(name: str, packages: list[str]) -> Path:
    """Returns the interpreter of an environment that contains the packages. Raises UnavailableError."""
    folder = FOLDER / name
    interpreter = folder / "bin" / "python"
    if not is_complete(folder, packages):
        uv = shutil.which("uv") or str(FOLDER.parent / "bin" / "uv")
        run_command([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)], FOLDER.parent)
        run_command([uv, "pip", "install", "--quiet", "--python", str(interpreter), *packages], FOLDER.parent)
        mark_complete(folder, packages)
    return interpreter


def is_complete(folder: Path, packages: list[str]) -> bool:
    """Returns whether exactly these packages are installed."""
    mark = folder / "complete"
    return mark.exists() and mark.read_text().split() == packages


def mark_complete(folder: Path, packages: list[str]) -> None:
    (folder / "complete").write_text("\n".join(packages))


def require(program: str) -> None:
    if shutil.which(program) is None:
        raise UnavailableError(f"{program} is not installed")


def run_command(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{command[0]}: {error}") from None
    if done.returncode != 0:
        raise UnavailableError(f"{' '.join(command[:3])}: {done.stderr.strip()[-500:]}")
