"""Implements the command line: `penstock metrics run`, `make metrics`, or the program for spark-submit."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn
from zoneinfo import ZoneInfo

import psycopg

from penstock.settings import SettingError, Settings
from penstock_web.local.chosen_database import choose_database, display_database
from penstock_web.local_error import LocalError

from .continuous import LostError, follow, run_with_retries
from .database.read import SourceDatabase
from .database.runs import is_interrupt
from .output.options import NoCatalogError, add_options, build_exporter
from .run import RequestedSpan, compute, ignore_progress, print_progress
from .span import find_zone
from .spark.java import NoJavaError
from .spark.session import open_session, was_submitted

# The lowest priority of a process, so that the job does not slow down the service.
NICE: Final = 19
INTERRUPTED: Final = 130
"""The exit status after Ctrl-C or SIGTERM. The next run computes the remaining windows."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0, or 1 with one line on standard error."""
    options = build_parser().parse_args(arguments)
    try:
        return _run(options)
    except (
        LocalError,
        LostError,
        NoCatalogError,
        NoJavaError,
        SettingError,
        ValueError,
        psycopg.OperationalError,
    ) as error:
        print(f"penstock metrics: {' '.join(str(error).split())}", file=sys.stderr)
        return 1


def build_parser() -> argparse.ArgumentParser:
    """Returns the parser of the options."""
    made = argparse.ArgumentParser(
        prog="penstock metrics run",
        description="Computes metrics of queues from their history into queue.metrics_*. Without --from and --to, "
        "the first run computes all windows, and each later run computes the changes since the last run.",
    )
    made.add_argument("--from", dest="start", metavar="TIME", help="first day to compute: 2026-03-29, or a time")
    made.add_argument("--to", dest="end", metavar="TIME", help="compute up to this time; default: now")
    made.add_argument("--continuous", action="store_true", help="continue, computing changes, until stopped")
    made.add_argument("--interval-seconds", type=int, default=60, help="with --continuous; default: %(default)s")
    made.add_argument("--master", help="of Spark, such as spark://host:7077; default: this machine, all cores")
    made.add_argument("--jdbc-jar", metavar="PATH", help="read by JDBC with this driver instead of by Arrow")
    made.add_argument(
        "--zone", metavar="NAME", help="whose days to compute: Europe/Berlin; default: QUEUE_METRICS_TIMEZONE"
    )
    made.add_argument("--data-dir", type=Path, metavar="PATH", help="state folder of the local service")
    made.add_argument(
        "--nice",
        type=int,
        default=NICE,
        help="niceness, 0 to 19: other processes of this machine take precedence; default: %(default)s; "
        "spark-submit decides for itself",
    )
    add_options(made)
    made.add_argument("--quiet", action="store_true", help="no progress on standard error")
    return made


def _run(options: argparse.Namespace) -> int:
    settings = Settings.read(os.environ)
    zone = find_zone(settings.queue_metrics_timezone if options.zone is None else options.zone)
    requested = RequestedSpan(zone, parse_instant(options.start, zone), parse_instant(options.end, zone))
    export = build_exporter(options, settings)
    address = choose_database(settings, options.data_dir)
    report = ignore_progress if options.quiet else print_progress
    report(f"database: {display_database(address)}")
    if not was_submitted():
        os.nice(options.nice)
    session = open_session(options.master, options.jdbc_jar or "")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    database = SourceDatabase(session, address, jdbc=bool(options.jdbc_jar))
    try:
        if options.continuous:
            follow(database, requested, options.interval_seconds, report)
        else:
            run = run_with_retries(lambda: compute(database, requested, report=report), report)
            report(f"run {run.run_id}: messages read: {run.rows_read:,}; rows changed: {run.rows_written:,}")
            export(database, report)
    except BaseException as error:
        if not is_interrupt(error):
            raise
        report("stopped")
        # Without this change, threads of Spark and Java would log long texts about their broken calls.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        with suppress(Exception):
            session.sparkContext.setLogLevel("OFF")
        return INTERRUPTED
    finally:
        with suppress(Exception):
            session.stop()
    return 0


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    logging.disable(logging.CRITICAL)  # Py4J would log its broken calls.
    raise KeyboardInterrupt


def parse_instant(text: str | None, zone: ZoneInfo) -> datetime | None:
    """Returns the instant of a date or a time in ISO 8601. `zone` applies to a time without an offset. Raises
    ValueError."""
    if text is None:
        return None
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
