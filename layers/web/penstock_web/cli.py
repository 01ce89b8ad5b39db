"""The command line: `penstock up | migrate | keys | metrics | settings | demo`.

Imports stay inside the commands: `penstock up` must not carry boto3 about, nor `penstock settings` a web framework.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock import __version__
from penstock.settings import SETTINGS, SettingError, Settings, as_markdown
from penstock_web.report.command import add_metrics

from .system_account import LocalError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code. Foreseen errors are one line on standard error and code 1."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except (LocalError, SettingError, CommandError) as error:
        print(f"penstock: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before the command has a way of its own to end
        return 130


class CommandError(Exception):
    """A command cannot do what it was asked for; the text is one line."""


def _up(options: argparse.Namespace) -> int:
    from penstock_web.local.up import Plan, up

    settings = Settings.read(os.environ)
    host, port = settings.host_and_port if os.environ.get("QUEUE_ADDRESS") else ("127.0.0.1", 9324)
    plan = Plan(
        host=options.host or host,
        port=options.port or port,
        workers=options.workers,
        state=options.data_dir,
        ephemeral=options.ephemeral,
        migrate=not options.no_migrate,
        pooler=not options.no_pooler,
    )
    return up(settings, plan)


def _worker(options: argparse.Namespace) -> int:
    from penstock_web.local.workers import Place, run_worker

    place = Place(options.host, options.port, options.metrics_folder)
    return run_worker(Settings.read(os.environ), place, options.ready_fd)


def _migrate(options: argparse.Namespace) -> int:
    from penstock.postgres.schema_dump import schema_dump
    from penstock_web.local.migrating import migrate_or_explain

    with _database(options.ephemeral) as dsn:
        applied = migrate_or_explain(dsn, options.tune_role)
        if applied.adopted:
            print(f"recorded {applied.adopted} instead of the migrations that it replaces")
        for name in applied.migrations:
            print(f"applied {name}")
        print("functions and grants " + ("applied" if applied.functions else "unchanged"))
        if options.dump:
            options.dump.write_text(schema_dump(dsn))
    return 0


@contextmanager
def _database(ephemeral: bool) -> Iterator[str]:
    """The database to migrate: that of the settings, or one that is removed afterwards."""
    from penstock_web.local.postgres import running_postgres
    from penstock_web.local.state import ephemeral_state

    from .system_account import SystemAccount

    if ephemeral:
        with ephemeral_state() as state, running_postgres(state, SystemAccount.choose()) as server:
            yield server.service_dsn()
    elif dsn := Settings.read(os.environ).direct_url:
        yield dsn
    else:
        raise CommandError("set DATABASE_DIRECT_URL or DATABASE_URL")


def _settings(options: argparse.Namespace) -> int:
    if options.markdown:
        print(as_markdown(), end="")
        return 0
    settings = Settings.read(os.environ)
    for setting in SETTINGS:
        value = getattr(settings, setting.name.lower())
        print(f"{setting.name}={'(set)' if setting.secret and value else value}")
    return 0


def _keys(options: argparse.Namespace) -> int:
    from penstock.errors import AwsError

    from .keys import KeyRing

    try:
        with KeyRing.open(Settings.read(os.environ)) as ring:
            for line in options.deed(ring, options):
                print(line)
    except AwsError as error:
        cause = " ".join(str(error.__cause__ or error).split())
        raise CommandError(f"the database cannot be used: {cause}") from error
    return 0


def _demo(options: argparse.Namespace) -> int:
    from .demo import demo

    return demo(options.endpoint)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock", description="SQS, SNS and schedules on plain PostgreSQL."
    )
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_up(commands.add_parser("up", help="start the service, and a database when DATABASE_URL is not set"))

    migrate = commands.add_parser("migrate", help="bring the database of DATABASE_DIRECT_URL up to date")
    migrate.add_argument("--dump", type=Path, metavar="FILE", help="then write the schema to FILE")
    migrate.add_argument("--ephemeral", action="store_true", help="in a new database, removed at the end")
    migrate.add_argument("--tune-role", metavar="NAME", help="planner settings for the service's own role")
    migrate.set_defaults(command=_migrate)

    _add_keys(
        commands.add_parser("keys", help="keys of QUEUE_ACCESS=sigv4, and the one that signs SNS messages")
    )

    add_metrics(commands.add_parser("metrics", help="a report of what the metrics job stored"))

    settings = commands.add_parser("settings", help="show every setting and its present value")
    settings.add_argument("--markdown", action="store_true", help="print docs/settings.md")
    settings.set_defaults(command=_settings)

    demo = commands.add_parser("demo", help="send, receive and delete messages with boto3")
    demo.add_argument("--endpoint", default="http://127.0.0.1:9324")
    demo.set_defaults(command=_demo)

    # No help text: `up --workers` starts these.
    worker = commands.add_parser("worker")
    worker.add_argument("--host", required=True)
    worker.add_argument("--port", type=int, required=True)
    worker.add_argument("--ready-fd", type=int, required=True)
    worker.add_argument("--metrics-folder", type=Path)
    worker.set_defaults(command=_worker)
    return parser


def _add_up(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1, or that of QUEUE_ADDRESS)")
    port_help = "port to listen on (default 9324, or that of QUEUE_ADDRESS)"
    parser.add_argument("--port", type=_number(1, 65535), help=port_help)
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--data-dir", type=Path, metavar="DIR", help="where the database lives")
    place.add_argument("--ephemeral", action="store_true", help="a new database, removed at the end")
    workers_help = "service processes (default 1)"
    parser.add_argument("--workers", type=_number(1, 1000), default=1, metavar="N", help=workers_help)
    parser.add_argument("--no-migrate", action="store_true", help="with DATABASE_URL: leave its schema alone")
    parser.add_argument("--no-pooler", action="store_true", help="connect without PgBouncer")
    parser.set_defaults(command=_up)


def _number(least: int, most: int) -> Callable[[str], int]:
    """What argparse calls for an option that is a whole number within limits."""

    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return parse


def _add_keys(parser: argparse.ArgumentParser) -> None:
    deeds = parser.add_subparsers(required=True, metavar="deed")
    create = deeds.add_parser("create", help="make a key; its secret is shown this once")
    create.add_argument("--account", metavar="ID", help="12 digits (default: QUEUE_ACCOUNT_ID)")
    create.add_argument("--description", default="", metavar="TEXT", help="what the key is for")
    create.add_argument("--bearer", action="store_true", help="for the REST API instead of the SQS API")
    create.set_defaults(
        deed=lambda ring, options: ring.create(options.account, options.description, options.bearer)
    )
    deeds.add_parser("list", help="show every key").set_defaults(deed=lambda ring, _: ring.listed())
    revoke = deeds.add_parser("revoke", help="refuse a key from now on")
    revoke.add_argument("id", metavar="ID")
    revoke.set_defaults(deed=lambda ring, options: ring.revoke(options.id))
    rotate = deeds.add_parser("rotate-signing", help="make a new key that signs SNS messages")
    rotate.set_defaults(deed=lambda ring, _: ring.rotate_signing())
    parser.set_defaults(command=_keys)


if __name__ == "__main__":
    sys.exit(main())
