"""Runs a service with a clock that a test can move. The module `clock` starts this program with the addresses of the
shared test server. Each line of standard input moves the clock forward by a number of seconds. The program writes the
service's address to standard output, and then the database's time after each move. The program stops when standard
input closes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from penstock.delivery import DELIVERIES
from penstock.observing.telemetry import configure_logging
from penstock.postgres.statement import Row
from penstock.scheduler.expressions import SCHEDULES
from penstock.workers.maintain import MAINTENANCE
from penstock.workers.measure import MEASUREMENTS
from penstock.workers.move import MOVE_TASKS
from penstock_web.database.listener import CHANNEL
from penstock_web.local.migrating import migrate_or_explain
from penstock_web.local.postgres import ROLE, free_port
from penstock_web.server import serve

from .server import HOST, test_settings

WORKERS: Final = (DELIVERIES, SCHEDULES, MAINTENANCE, MOVE_TASKS, MEASUREMENTS)
_WAKE: Final[LiteralString] = """
select pg_notify(%s, w.name) from (select unnest(%s::text[]) union all select q.arn from queue.queues q) w (name)"""


def run(superuser: str, service: str) -> None:
    """Runs a service on a new database until standard input ends, and then drops the database. `superuser` and
    `service` are addresses of the shared test server.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests. The tests then end this process.
    with new_database(superuser, service) as (connection, address):
        settings = test_settings(address)
        configure_logging(settings.log_level)
        port = free_port()

        def on_ready() -> None:
            print_line(f"http://{HOST}:{port}")
            threading.Thread(target=follow, args=(connection,), daemon=True).start()

        serve(settings, HOST, port, on_ready)


@contextmanager
def new_database(superuser: str, service: str) -> Iterator[tuple[psycopg.Connection[Row], str]]:
    """Creates a database with the clock, and migrates it. Yields a superuser's connection, and the address for the
    service.
    """
    name = f"clock_{os.getpid()}"
    identifier = sql.Identifier(name)
    with psycopg.connect(superuser, autocommit=True) as administrator:
        create = sql.SQL("create database {} owner {} template template0")
        administrator.execute(create.format(identifier, sql.Identifier(ROLE)))
        try:
            with psycopg.connect(make_conninfo(superuser, dbname=name), autocommit=True) as connection:
                connection.execute(Path(__file__).with_name("clock.sql").read_bytes())
                address = make_conninfo(service, dbname=name)
                migrate_or_explain(address, ROLE)
                yield connection, address
        finally:
            administrator.execute(sql.SQL("drop database {} with (force)").format(identifier))


def follow(connection: psycopg.Connection[Row]) -> None:
    """Moves the clock forward by the numbers on standard input. Sends SIGTERM to this process when standard input
    ends.
    """
    for line in sys.stdin:
        moved = connection.execute(
            "update penstock_clock.advanced set by = by + make_interval(secs => %s)"
            " returning pg_catalog.real_clock_timestamp() + by",
            (float(line),),
        ).fetchone()
        remove_expired(connection)
        # Workers and long polls sleep until a certain time. Notifications wake them, and they read the new time.
        connection.execute(_WAKE, (CHANNEL, list(WORKERS)))
        print_line(moved[0].isoformat() if moved else "")
    os.kill(os.getpid(), signal.SIGTERM)


def remove_expired(connection: psycopg.Connection[Row]) -> None:
    """Deletes expired messages immediately, so that tests do not wait for a worker. `queue.maintain_queue` skips rows
    that another transaction has locked. The lock on queue.queues prevents row locks of workers and receives, because
    they read queue.queues first.
    """
    for row in connection.execute("select q.queue_id from queue.queues q").fetchall():
        with connection.transaction():
            connection.execute("lock table queue.queues in access exclusive mode")
            connection.execute("select queue.maintain_queue(%s)", row)


def print_line(line: str) -> None:
    """Sends a line to the test process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run(**json.loads(sys.argv[1]))
