"""Implements `penstock metrics`: runs the metrics job, reports the job's results, and shows the state of queues."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from penstock.settings import Settings
from penstock_web.cli.options import Endpoint
from penstock_web.cli.values import rfc_3339_time, whole_number

OURS = ("penstock", "penstock_web", "penstock_metrics")

app = typer.Typer(name="metrics", help="show the state of queues, and run and report the metrics job")


def runs_here() -> bool:
    """Returns whether PENSTOCK_ENDPOINT is set or a service runs here."""
    from penstock_web.local.announced import list_running_services

    return bool(os.environ.get("PENSTOCK_ENDPOINT")) or bool(list_running_services())


def require_database() -> Settings:
    """Returns the settings. If DATABASE_URL is not set, adds the address of the local service's database. Raises
    SettingError.
    """
    from penstock_web.local.chosen_database import choose_database

    settings = Settings.read(os.environ)
    return settings if settings.database_url else settings.replace(database_url=choose_database(settings))


@app.command(
    "run",
    help="compute history, percentiles and forecasts with Spark (--help lists the options)",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
def run_job(context: typer.Context) -> None:
    from penstock_web.local_error import LocalError

    try:
        from penstock_metrics.main import main
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or package in OURS:
            raise
        remedy = "Run: pip install 'penstock-queue[metrics]'"
        raise LocalError(f"the metrics job needs the package {package}. {remedy}") from None
    raise typer.Exit(main(context.args))


@app.command("report", help="write the queues' state and history to one HTML file")
def report(
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", parser=Path, help="the file to write")],
    start: Annotated[
        datetime | None,
        typer.Option("--from", metavar="TIME", parser=rfc_3339_time, help="RFC 3339 (default: a day before the end)"),
    ] = None,
    end: Annotated[
        datetime | None, typer.Option("--to", metavar="TIME", parser=rfc_3339_time, help="RFC 3339 (default: now)")
    ] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="only this queue")] = None,
) -> None:
    from penstock.errors import QueueDoesNotExist
    from penstock_web.cli.database import service_database
    from penstock_web.local_error import LocalError
    from penstock_web.report.page import build_page, write_atomically
    from penstock_web.report.read import Reader, choose_focus, span_of_report

    settings = require_database()
    with service_database(settings) as database:
        try:
            span = span_of_report(start, end)
            write_atomically(out, build_page(Reader(database, settings, span, choose_focus(span, start), queue)))
        except QueueDoesNotExist:
            raise LocalError(f"there is no queue {queue!r}") from None
        except (OSError, ValueError) as error:
            raise LocalError(str(error)) from error
    print(f"wrote {out}")


@app.command(
    "lag",
    help="show each queue's state, the reason, and when the queue will be empty, from the worst to the best queue",
)
def lag(
    limit: Annotated[
        int,
        typer.Option(metavar="NUMBER", parser=whole_number(1, 1_000_000), help="maximum number of queues to show"),
    ] = 50,
    target: Annotated[
        int,
        typer.Option(
            "--target-lag",
            metavar="SECONDS",
            parser=whole_number(1, 86_400),
            help="longest acceptable wait of a message, from which the number of needed consumers follows",
        ),
    ] = 300,
    as_json: Annotated[
        bool, typer.Option("--json", help="print one JSON document for each queue instead of a table")
    ] = False,
    endpoint: Endpoint = None,
) -> None:
    """Shows verdicts from the database at DATABASE_URL. Without DATABASE_URL, requests the verdicts from the service
    that runs here. If no service runs, reads the database of `penstock up`.
    """
    from penstock_web.cli.database import service_database
    from penstock_web.cli.lag import ask_service, print_json, print_table, read_all

    if endpoint is not None or (not os.environ.get("DATABASE_URL") and runs_here()):
        queues = ask_service(endpoint, target)
    else:
        settings = require_database()
        with service_database(settings) as database:
            queues = read_all(database, settings, target)
    (print_json if as_json else print_table)(queues[:limit], len(queues))
