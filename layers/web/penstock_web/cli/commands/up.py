"""Implements `penstock up`: starts the service, and a database if DATABASE_URL is not set."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.settings import Settings
from penstock_web.cli.database_option import DatabaseAddress, build_variables_with
from penstock_web.cli.values import whole_number

if TYPE_CHECKING:
    from penstock_web.manifest.source import Source

app = typer.Typer()

Host = Annotated[
    str | None,
    typer.Option(metavar="HOST", help="address to listen on (default: 127.0.0.1, or the host of QUEUE_ADDRESS)"),
]
Port = Annotated[
    int | None,
    typer.Option(
        metavar="PORT",
        parser=whole_number(0, 65535),
        help="port to listen on, or 0 for any free port (default: 9324, or the port of QUEUE_ADDRESS)",
    ),
]
DataDir = Annotated[Path | None, typer.Option(metavar="DIR", parser=Path, help="folder of the database")]
Ephemeral = Annotated[bool, typer.Option("--ephemeral", help="use a temporary database")]
Workers = Annotated[
    int,
    typer.Option(metavar="N", parser=whole_number(1, 1000), show_default=False, help="service processes (default 1)"),
]
NoMigrate = Annotated[bool, typer.Option("--no-migrate", help="do not migrate the database of DATABASE_URL")]
NoPooler = Annotated[bool, typer.Option("--no-pooler", help="connect without PgBouncer")]
ManifestFile = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", parser=Path, help="apply this penstock.yaml before the service is ready"),
]
FirstKey = Annotated[bool, typer.Option("--first-key", help="create and show the first key, with QUEUE_ACCESS=sigv4")]


@app.command("up", help="start the service with its console and /docs/, and a database if DATABASE_URL is not set")
def up(  # noqa: PLR0913, PLR0917 - options of the command
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    ephemeral: Ephemeral = False,
    workers: Workers = 1,
    database: DatabaseAddress = None,
    no_migrate: NoMigrate = False,
    no_pooler: NoPooler = False,
    file: ManifestFile = None,
    first_key: FirstKey = False,
) -> int:
    if ephemeral and data_dir is not None:
        raise typer.BadParameter("not allowed with argument --data-dir", param_hint="--ephemeral")
    if database and (ephemeral or data_dir is not None):
        raise typer.BadParameter("not allowed with --data-dir or --ephemeral", param_hint="--database")
    has_address = database or os.environ.get("DATABASE_URL") or os.environ.get("DATABASE_URL_FILE")
    if ephemeral or data_dir is not None or not has_address:
        # The imports take a second.
        print("penstock: starting with its own PostgreSQL", file=sys.stderr, flush=True)
    from penstock_web.local.up import UpOptions
    from penstock_web.local.up import up as run

    settings = Settings.read(build_variables_with(database))
    own_host, own_port = settings.host_and_port if os.environ.get("QUEUE_ADDRESS") else ("127.0.0.1", 9324)
    options = UpOptions(
        host=host or own_host,
        port=own_port if port is None else port,
        workers=workers,
        state=data_dir,
        ephemeral=ephemeral,
        migrate=not no_migrate,
        pooler=not no_pooler,
    )
    from penstock_web.cli.key_ring import create_first_key

    return run(settings, options, create_first_key if first_key else None, None if file is None else _applying(file))


def _applying(file: Path) -> Callable[[Settings, str], None]:
    """Reads the file before the database starts, so that the user sees mistakes immediately. Returns the function that
    applies the file.
    """
    from penstock_web.manifest.source import read_file

    source = read_file(file)
    source.refuse()
    return partial(_apply, source)


def _apply(source: Source, settings: Settings, address: str) -> None:
    from contextlib import ExitStack

    from penstock_web.manifest.changes import carry_out

    from .manifest import plan_changes

    with ExitStack() as stack:
        changes = plan_changes(stack, source, address, settings.queue_region, settings=settings).changes
        carry_out(changes)
    print(f"{len(changes)} changes made by --file" if changes else "--file: nothing to do", flush=True)


@app.command("worker", hidden=True)
def worker(
    host: Annotated[str, typer.Option(metavar="HOST")],
    port: Annotated[int, typer.Option(metavar="PORT")],
    ready_fd: Annotated[int, typer.Option(metavar="READY_FD")],
    metrics_folder: Annotated[Path | None, typer.Option(metavar="METRICS_FOLDER", parser=Path)] = None,
) -> int:
    """Runs one process of `penstock up --workers`. The help does not list this command."""
    from penstock_web.local.workers import WorkerOptions, run_worker

    return run_worker(Settings.read(os.environ), WorkerOptions(host, port, metrics_folder), ready_fd)
