"""`penstock metrics report`: its options, and the file that it writes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path

from penstock.settings import SettingError, Settings
from penstock_web.system_account import LocalError


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """The subcommands of `penstock metrics`."""
    deeds = parser.add_subparsers(required=True, metavar="deed")
    report = deeds.add_parser("report", help="write one HTML file with pictures")
    report.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write")
    report.add_argument(
        "--from", dest="start", type=_moment, metavar="TIME", help="RFC 3339 (default: a day before)"
    )
    report.add_argument("--to", dest="end", type=_moment, metavar="TIME", help="RFC 3339 (default: now)")
    report.add_argument("--queue", metavar="NAME", help="of this queue alone")
    report.set_defaults(command=_report)


def _moment(text: str) -> datetime:
    from penstock_web.native.documents import instant

    if (found := instant(text)) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2030-01-31T09:00:00Z")
    return found


def _report(options: argparse.Namespace) -> int:
    """Raises SettingError, LocalError."""
    from penstock.errors import AwsError, QueueDoesNotExist
    from penstock.postgres.database import Database

    from .page import page
    from .read import Reader, span_of_report

    settings = Settings.read(os.environ)
    if not settings.database_url:
        raise SettingError("set DATABASE_URL")
    try:
        span = span_of_report(options.start, options.end)
        with closing(Database(settings.database_url)) as database:
            write(options.out, page(Reader(database, settings, span, options.queue)))
    except QueueDoesNotExist:
        raise LocalError(f"there is no queue {options.queue!r}") from None
    except AwsError as error:
        cause = " ".join(str(error.__cause__ or error).split())
        raise LocalError(f"the database cannot be used: {cause}") from error
    except (OSError, ValueError) as error:
        raise LocalError(str(error)) from error
    print(f"wrote {options.out}")
    return 0


def write(path: Path, pieces: Iterable[str]) -> None:
    """All of it or nothing: what was there stays until the new file is whole. Raises OSError."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
