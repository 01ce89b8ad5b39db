"""Implements `penstock dashboards`, `systemd` and `example`, which print files that the package contains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from penstock_web.local_error import LocalError

app = typer.Typer()


@app.command("dashboards", help="list the dashboards for Grafana, or print a dashboard")
def dashboards(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="name of the dashboard to print")] = None,
) -> None:
    folder = find_file("infra/container/grafana", "dashboards")
    print_one("dashboard", name, {path.stem: path for path in folder.glob("*.json")})


@app.command("systemd", help="list the units for systemd and service.lock, the tested packages, or print one of them")
def systemd(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="name of the file to print")] = None,
) -> None:
    files = [*find_file("infra", "systemd").iterdir(), find_file("requirements", "service.lock")]
    print_one("file", name, {path.name: path for path in files})


@app.command("example", help="print a penstock.yaml with every kind of resource")
def example() -> None:
    print(find_file("examples", "penstock.yaml").read_text(), end="")


def print_one(kind: str, name: str | None, known: Mapping[str, Path]) -> None:
    """Prints the file `name`, or all names without a name."""
    if name is None:
        print(*sorted(known), sep="\n")
    elif name not in known:
        raise LocalError(f"there is no {kind} {name!r}. The {kind}s are {', '.join(sorted(known))}")
    else:
        print(known[name].read_text(), end="")


def find_file(folder: str, name: str) -> Path:
    """Returns a file's path. An installed package has the file in `files`, and a clone of the repository has the file
    in `folder`.
    """
    installed = Path(__file__).parents[2] / "files" / name
    return installed if installed.exists() else Path(__file__).parents[5] / folder / name
