"""Implements `penstock worker`: one of the processes that `penstock up --workers` starts. The help does not list this
command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from penstock.settings import Settings

app = typer.Typer()


@app.command("worker", hidden=True)
def worker(
    host: Annotated[str, typer.Option(metavar="HOST")],
    port: Annotated[int, typer.Option(metavar="PORT")],
    ready_fd: Annotated[int, typer.Option(metavar="READY_FD")],
    metrics_folder: Annotated[Path | None, typer.Option(metavar="METRICS_FOLDER", parser=Path)] = None,
) -> int:
    from penstock_web.local.workers import WorkerOptions, run_worker

    return run_worker(Settings.read(os.environ), WorkerOptions(host, port, metrics_folder), ready_fd)
