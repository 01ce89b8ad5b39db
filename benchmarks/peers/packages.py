"""What peers are made of, brought from Debian, npm and PyPI into .tools/peers, without root. Kept for the next time."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.system import UnavailableError

FOLDER = Path(__file__).resolve().parents[2] / ".tools" / "peers"


def debian(name: str, packages: list[str]) -> Path:
    """The packages' files below one folder. Raises UnavailableError, also on machines that are not Debian's."""
    folder = FOLDER / name
    if complete(folder, packages):
        return folder
    require("apt-get")
    require("dpkg-deb")
    archives = folder / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    checked(["apt-get", "download", *packages], archives)
    for archive in archives.glob("*.deb"):
        checked(["dpkg-deb", "-x", str(archive), str(folder)], folder)
    shutil.rmtree(archives)
    finished(folder, packages)
    return folder


def npm(name: str, packages: list[str]) -> Path:
    """The folder that has node_modules. Raises UnavailableError."""
    folder = FOLDER / name
    if not complete(folder, packages):
        require("npm")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"private": True}))
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        checked(["npm", "install", *options, *packages], folder)
        finished(folder, packages)
    return folder


def python(name: str, packages: list[str]) -> Path:
    """The interpreter of an environment that has the packages. Raises UnavailableError."""
    folder = FOLDER / name
    interpreter = folder / "bin" / "python"
    if not complete(folder, packages):
        uv = shutil.which("uv") or str(FOLDER.parent / "bin" / "uv")
        checked(
            [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)],
            FOLDER.parent,
        )
        checked([uv, "pip", "install", "--quiet", "--python", str(interpreter), *packages], FOLDER.parent)
        finished(folder, packages)
    return interpreter


def complete(folder: Path, packages: list[str]) -> bool:
    """Whether just these packages were brought before."""
    mark = folder / "complete"
    return mark.exists() and mark.read_text().split() == packages


def finished(folder: Path, packages: list[str]) -> None:
    (folder / "complete").write_text("\n".join(packages))


def require(program: str) -> None:
    if shutil.which(program) is None:
        raise UnavailableError(f"{program} is not installed")


def checked(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{command[0]}: {error}") from None
    if done.returncode != 0:
        raise UnavailableError(f"{' '.join(command[:3])}: {done.stderr.strip()[-500:]}")
