"""Implements `penstock up`: starts the database and the pooler, migrates the database, and runs the service. At the
end, stops everything in the opposite order. A watchdog restarts the database or the pooler if it ends unexpectedly.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Final

import psycopg

from penstock.observing.telemetry import configure_logging
from penstock.settings import Settings
from penstock.settings.unknown import describe_unknown_variables
from penstock_web.console.documentation import find_archive
from penstock_web.local_error import LocalError
from penstock_web.runtime.service_records import log_signal, log_start, log_stop

from .announced import announce
from .encryption_key import add_encryption_key, check_encryption_key
from .migrating import (
    check_addresses,
    look_at_database,
    migrate_or_explain,
    say,
    warn,
    warn_of_missing_roles,
    without_password,
)
from .pgbouncer import PgBouncer, running_pgbouncer
from .postgres import ROLE, Postgres, running_postgres
from .state import default_state_directory, ephemeral_state, lock_state
from .system_account import SystemAccount
from .terminal_text import to_printable
from .watchdog import watch_servers
from .workers import run_workers

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The options of `penstock up`."""

    host: str
    port: int
    workers: int = 1
    state: Path | None = None
    ephemeral: bool = False
    migrate: bool = True
    pooler: bool = True


def up(
    settings: Settings,
    options: UpOptions,
    on_database: Callable[[Settings], None] | None = None,
    on_answering: Callable[[Settings, str], None] | None = None,
) -> int:
    """Serves until SIGTERM or Ctrl-C. Raises LocalError. Calls `on_database` after the migration. Calls `on_answering`
    with the address as soon as the service responds, before the service reports that it is ready. A LocalError from
    either callback stops the service.
    """
    configure_logging(settings.log_level)
    check_addresses(settings)
    for warning in describe_unknown_variables(os.environ).values():
        warn(warning)
    warn_of_open_access(settings, options.host)
    options = dataclasses.replace(options, port=_check_port(options.host, options.port))
    settings = enable_console(settings, options)
    host = f"[{options.host}]" if ":" in options.host else options.host
    settings = settings.replace(queue_address=f"{host}:{options.port}")
    with _signals_end_the_process(), ExitStack() as stack:
        stack.callback(_ignore_signals)
        if options.ephemeral or options.state:
            settings = _without_database(settings, options)
        is_own = not settings.database_url
        settings, displayed_dsn, folder = prepare_database(settings, options, stack)
        version = look_at_database(settings, is_own=is_own)
        check_encryption_key(settings, folder)
        address = reachable(options.host, options.port)
        settings = allow_loopback_webhooks(settings, options) if is_own else settings
        if on_database:
            on_database(settings)

        failures: list[LocalError] = []

        def on_ready() -> None:
            databases = {displayed_dsn, without_password(settings.database_url)}
            stack.enter_context(announce(address, folder, sorted(databases)))
            _announce(settings, options, displayed_dsn)
            log_start(settings, displayed_dsn, version, f"{options.host}:{options.port}", options.workers)

        stack.enter_context(log_stop())
        _serve(settings, options, _prepare_then(on_answering, settings, address, on_ready, failures))
    if failures:
        raise failures[0]
    return 0


def _without_database(settings: Settings, options: UpOptions) -> Settings:
    """Removes the database's addresses from the settings, because the command's options override the environment."""
    if settings.database_url:
        option = "--ephemeral" if options.ephemeral else "--data-dir"
        warn(f"{option} starts a new database and ignores DATABASE_URL")
    return settings.replace(database_url="", database_direct_url="")


def _prepare_then(
    prepare: Callable[[Settings, str], None] | None,
    settings: Settings,
    address: str,
    then: Callable[[], None],
    failures: list[LocalError],
) -> Callable[[], None]:
    """Returns a function that calls `prepare` and `then` in a thread. If `prepare` fails, stops the service instead of
    calling `then`.
    """
    if prepare is None:
        return then

    def run() -> None:
        try:
            prepare(settings, address)
        except LocalError as error:
            failures.append(error)
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            then()

    return lambda: Thread(target=run).start()


def reachable(host: str, port: int) -> str:
    """Returns an address at which local clients reach the service. Replaces an unspecified host, such as 0.0.0.0, with
    the loopback address.
    """
    with contextlib.suppress(ValueError):
        address = ip_address(host)
        if address.is_unspecified:
            host = "[::1]" if address.version == 6 else "127.0.0.1"
        elif address.version == 6:
            host = f"[{host}]"
    return f"http://{host}:{port}"


def prepare_database(settings: Settings, options: UpOptions, stack: ExitStack) -> tuple[Settings, str, Path | None]:
    """Migrates the configured database, or starts and migrates a database. Returns the settings with the database's
    addresses, the address to show to the user, and the folder of a started database.
    """
    if settings.database_url:
        if options.migrate:
            warn_of_missing_roles(migrate_or_explain(settings.direct_url, None, settings))
        return settings, without_password(settings.direct_url), None  # The password must not be logged.
    place = stack.enter_context(ephemeral_state()) if options.ephemeral else options.state or default_state_directory()
    say(f"starting PostgreSQL in {place}" + ("" if place.exists() else ", a new database: this takes some seconds"))
    try:
        server, pooler = _start_own_database(place, settings, options, stack)
        settings = add_encryption_key(settings, place)
    except OSError as error:
        raise LocalError(
            f"the data folder {place} cannot be used: {error.filename or place}: {error.strerror or error}. "
            "Choose another folder with --data-dir, or set DATABASE_URL"
        ) from error
    except psycopg.Error as error:
        raise LocalError(f"the database in {place} cannot be used: {' '.join(str(error).split())}") from error
    settings = settings.replace(
        database_url=pooler.dsn() if pooler else server.service_dsn(), database_direct_url=server.socket_dsn()
    )
    return settings, server.display_dsn(), place


def _start_own_database(
    place: Path, settings: Settings, options: UpOptions, stack: ExitStack
) -> tuple[Postgres, PgBouncer | None]:
    """Starts the server in a folder, migrates its database, and starts the pooler. A watchdog restarts the server and
    the pooler if they end.
    """
    account = SystemAccount.choose()
    state = stack.enter_context(lock_state(place, account))
    server = stack.enter_context(running_postgres(state, account))
    say("PostgreSQL runs; migrating")
    migrate_or_explain(server.service_dsn(), ROLE, settings)
    if options.pooler:
        say("the database is migrated; starting PgBouncer")
    pooler = _start_pooler(state, server, stack) if options.pooler else None
    stack.enter_context(watch_servers(state, server, pooler))
    return server, pooler


def warn_of_open_access(settings: Settings, host: str) -> None:
    """Writes a warning to stderr if other machines can call the service without a signature."""
    if settings.queue_access != "sigv4" and not _is_loopback(host):
        sys.stderr.write(
            f"penstock: WARNING: with QUEUE_ACCESS={settings.queue_access}, everyone who can connect to {host} can "
            "read, send and delete everything; QUEUE_ACCESS=sigv4 requires keys (`penstock keys create`)\n"
        )


def allow_loopback_webhooks(settings: Settings, options: UpOptions) -> Settings:
    """Allows webhooks to loopback addresses if only local clients can reach the service."""
    if settings.webhook_allow_cidrs or not _is_loopback(options.host):
        return settings
    return settings.replace(webhook_allow_cidrs="127.0.0.0/8,::1/128")


def enable_console(settings: Settings, options: UpOptions) -> Settings:
    """Enables the console without sign-in if only local clients can reach the service."""
    if settings.queue_console or settings.queue_access != "off" or not _is_loopback(options.host):
        return settings
    return settings.replace(queue_console="full")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _start_pooler(state: Path, server: Postgres, stack: ExitStack) -> PgBouncer | None:
    try:
        return stack.enter_context(running_pgbouncer(state, server))
    except LocalError as error:
        print(f"the service connects directly to PostgreSQL, without PgBouncer: {error}", flush=True)
        return None


def _serve(settings: Settings, options: UpOptions, on_ready: Callable[[], None]) -> None:
    if options.workers > 1:
        run_workers(settings, options.host, options.port, options.workers, on_ready)
        return
    from penstock_web.server import serve

    serve(settings, options.host, options.port, on_ready)


def _announce(settings: Settings, options: UpOptions, database: str) -> None:
    address = reachable(options.host, options.port)
    region = settings.queue_region
    arguments, remark = ', aws_access_key_id="x", aws_secret_access_key="x"', ""
    variables = "AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x "
    if settings.queue_access == "sigv4":
        # boto3 and awscli read the key from the environment, so the printed examples omit the secret.
        arguments = variables = ""
        remark = "  # with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY of --first-key or `penstock keys create`"
    lines = [
        f"penstock ready on {address}",
        f"database {to_printable(database)}",
        (
            f'boto3    boto3.client("sqs", endpoint_url="{address}", region_name="{region}"{arguments})'
            f'.create_queue(QueueName="hello"){remark}'
        ),
        (
            f"awscli   {variables}aws --region {region} --endpoint-url {address} "
            f"sqs create-queue --queue-name hello{remark}"
        ),
    ]
    if settings.console != "off":
        lines.append(f"console  {address}/console")
        if find_archive().exists():  # a clone has the site after `make site`
            lines.append(f"docs     {address}/docs/")
    # With unbuffered output, `print` writes the end of a line separately, and lines of several processes could mix.
    # Writing all lines in a single call prevents mixed lines.
    sys.stdout.write("\n".join([*lines, ""]))
    sys.stdout.flush()


def _check_port(host: str, port: int) -> int:
    """Returns the port, or a free port if `port` is 0. Raises LocalError if the port is in use, before the database
    starts.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            advice = ". Choose another --port" if error.errno == errno.EADDRINUSE else ""
            raise LocalError(f"cannot listen on {host}:{port}: {error.strerror}{advice}") from None
        chosen: int = probe.getsockname()[1]
    return chosen


@contextmanager
def _signals_end_the_process() -> Iterator[None]:
    """Makes SIGTERM and SIGINT raise SystemExit during the start, so that every `finally` block runs."""
    previous = {number: signal.signal(number, _exit) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _exit(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    log_signal(number)
    sys.exit(0)


def _ignore_signals() -> None:
    # A second Ctrl-C must not interrupt the database's shutdown.
    for number in _SIGNALS:
        with contextlib.suppress(ValueError):
            signal.signal(number, signal.SIG_IGN)
