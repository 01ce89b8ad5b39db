"""A service whose database has a time that moves: standard input says by how many seconds, a line each.

`penstock.testing.clock` starts it, with the addresses of the shared test server. It writes its own address, and after
each move the database's time, to standard output, and ends with its standard input.
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
from penstock.effects import Row
from penstock.scheduler.expressions import SCHEDULES
from penstock.telemetry import configure_logging
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
    """Serve on a new database until standard input ends, then drop it. The addresses are those of the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which end this process
    with new_database(superuser, service) as (connection, address):
        settings = test_settings(address)
        configure_logging(settings.log_level)
        port = free_port()

        def on_ready() -> None:
            answer(f"http://{HOST}:{port}")
            threading.Thread(target=follow, args=(connection,), daemon=True).start()

        serve(settings, HOST, port, on_ready)


@contextmanager
def new_database(superuser: str, service: str) -> Iterator[tuple[psycopg.Connection[Row], str]]:
    """A migrated database with the clock: a superuser's connection, and the address for the service."""
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
    """Move the clock as standard input says; at its end this process gets SIGTERM."""
    for line in sys.stdin:
        moved = connection.execute(
            "update penstock_clock.advanced set by = by + make_interval(secs => %s)"
            " returning pg_catalog.real_clock_timestamp() + by",
            (float(line),),
        ).fetchone()
        remove_expired(connection)
        # Workers and the long polls of every queue wait for a time: they check again.
        connection.execute(_WAKE, (CHANNEL, list(WORKERS)))
        answer(moved[0].isoformat() if moved else "")
    os.kill(os.getpid(), signal.SIGTERM)


def remove_expired(connection: psycopg.Connection[Row]) -> None:
    """Do now what the workers would do a moment later: delete what is past its retention.

    Calls skip what another transaction has locked, such as a worker that deletes these messages and has not committed.
    Workers and receives begin by reading queue.queues, so they have locked nothing meanwhile.
    """
    for row in connection.execute("select q.queue_id from queue.queues q").fetchall():
        with connection.transaction():
            connection.execute("lock table queue.queues in access exclusive mode")
            connection.execute("select queue.maintain_queue(%s)", row)


def answer(line: str) -> None:
    """Write a line to the test process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run(**json.loads(sys.argv[1]))
