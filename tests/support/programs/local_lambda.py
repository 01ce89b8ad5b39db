"""Runs `make lambda` as a separate process: the functions in processes of awslambdaric, behind both front ends."""

import os
import subprocess
import sys
import sysconfig
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from tests.support.functions.server import ROOT


@dataclass(frozen=True)
class Gateway:
    """Contains the addresses of the HTTP API and the load balancer."""

    http_api: str
    balancer: str


@contextmanager
def running_gateway(build: Path, *arguments: str, **variables: str) -> Iterator[Gateway]:
    """Runs the gateway on free ports, and stops it with SIGTERM. `variables` contains environment variables such as
    DATABASE_URL.
    """
    command = [
        sys.executable,
        "-m",
        "tests.support.local_lambda",
        "--build",
        str(build),
        "--port",
        "0",
        "--alb-port",
        "0",
    ]
    with subprocess.Popen(
        [*command, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}
    ) as process:
        try:
            assert process.stdout is not None
            words = next(line for line in process.stdout if "ready" in line).replace(",", "").split()
            # A full pipe would block the functions, which write to the same output.
            reader = Thread(target=deque, args=(process.stdout, 0))
            reader.start()
            try:
                yield Gateway(*(word for word in words if word.startswith("http://")))
            finally:
                process.terminate()
                reader.join(60)
        finally:
            process.terminate()
            process.wait(60)


def from_sources(folder: Path) -> Path:
    """Imitates the output of `sam build` with links into this checkout and its environment."""
    for layer, package in (("core", "penstock"), ("web", "penstock_web")):
        python = folder / "layers" / layer / "python"
        python.mkdir(parents=True)
        (python / package).symlink_to(ROOT / "layers" / layer / package)
    installed = Path(sysconfig.get_paths()["purelib"])
    for entry in installed.iterdir():
        if not entry.name.startswith(("penstock", "__", "_virtualenv")) and entry.suffix != ".pth":
            (folder / "layers/core/python" / entry.name).symlink_to(entry)
    (folder / "layers/expressions/python").mkdir(parents=True)  # the library is among the links above
    (folder / "functions").symlink_to(ROOT / "functions")
    (folder / "template.yaml").symlink_to(ROOT / "template.yaml")
    return folder
