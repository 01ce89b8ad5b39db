"""Defines the export options of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from penstock.settings import Settings
from penstock_metrics.database.read import SourceDatabase

from .days import Kept
from .export import ExportTarget, export
from .iceberg import NoCatalogError, Tables
from .place import Place

__all__ = ["NoCatalogError", "add_options", "build_exporter"]

Report = Callable[[str], None]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds --parquet and --iceberg."""
    parser.add_argument(
        "--parquet",
        metavar="PATH",
        help="also write windows, latencies and finished messages, without bodies, as Parquet files to this folder or "
        "URI, such as s3://bucket/penstock: changes since the last time; the first time, everything",
    )
    parser.add_argument(
        "--iceberg",
        metavar="CATALOG.NAMESPACE",
        help="with --parquet: register the files as Iceberg tables windows, latencies and messages of this namespace",
    )


def build_exporter(options: argparse.Namespace, settings: Settings) -> Callable[[SourceDatabase, Report], None]:
    """Returns the export to call after a run. Raises ValueError or NoCatalogError for wrong options."""
    if options.parquet is None:
        if options.iceberg is not None:
            raise ValueError("--iceberg needs --parquet PATH, where its files are")
        return lambda _database, _report: None
    if options.continuous:
        raise ValueError("--parquet does not go with --continuous: let a separate run export, every hour or day")
    place = Place.of(options.parquet)
    register = None if options.iceberg is None else Tables.of(options.iceberg, place).register
    kept = Kept(settings.queue_metrics_days, settings.queue_history_days)

    def run(database: SourceDatabase, report: Report) -> None:
        done = export(database, ExportTarget(place, register), kept, report)
        report(f"exported to {place.uri}: files: {done.files:,}; rows: {done.rows:,}")

    return run
