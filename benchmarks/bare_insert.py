"""Measures a unit that is comparable between machines: PostgreSQL's CPU for a bare INSERT of one row by pgbench.

The INSERTs go to a table in a separate database on the server that Penstock uses in this run: 16 clients, prepared
statements, a transaction a row, 100 bytes and a generated key. The figure is the server's CPU alone, as for all
systems on PostgreSQL, without the CPU of opening connections.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from .load.wire import body_of
from .measure.cpu import Meter
from .pgbench import Pgbench, find_pgbench
from .postgres import administrator_dsn, binaries_of, checkpoint, postmaster_of
from .system import UnavailableError

CLIENTS = 16
INSERTS = 20_000  # of one figure: about a second of CPU, which the kernel counts in 1/100 s
FIGURES = 3  # a vacuum at the same time makes one of them too large; the median ignores it
TABLE = "create table bare_insert (id bigint generated always as identity primary key, body text not null)"
INSERT = f"insert into bare_insert (body) values ('{body_of(100)}');\n"
FAILURES = (UnavailableError, RuntimeError, OSError, psycopg.Error)


def measure_bare_insert(dsn: str, inserts: int = INSERTS) -> list[float]:
    """CPU seconds of PostgreSQL for 1,000 INSERTs, measured FIGURES times.

    Raises one of FAILURES: pgbench is missing, the server is unknown or on another machine, no role may create a
    database, or the INSERTs were too few to measure.
    """
    if not dsn:
        raise UnavailableError("the database is unknown (--database)")
    postmaster = postmaster_of(dsn)
    program, meter = find_pgbench(binaries_of(postmaster)), Meter({"postgresql": [postmaster]})
    with own_database(administrator_dsn(dsn)) as own:
        pgbench, transactions = Pgbench(program, own), -(-inserts // CLIENTS)
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute(TABLE)
        pgbench.run(INSERT, CLIENTS, max(1, transactions // 10))
        checkpoint(own)
        figures = [one_figure(pgbench, meter, transactions) for _ in range(FIGURES)]
    if min(figures) <= 0:
        raise UnavailableError(f"{inserts} INSERTs are too few to be measured")
    return figures


def one_figure(pgbench: Pgbench, meter: Meter, transactions: int) -> float:
    opening = pgbench.opening_cpu(CLIENTS, meter)
    before = meter.read().cpu_seconds["postgresql"]
    run = pgbench.run(INSERT, CLIENTS, transactions)
    used = meter.read().cpu_seconds["postgresql"] - before - opening
    return used / run.transactions * 1000


@contextmanager
def own_database(administrator: str) -> Iterator[str]:
    """Yields the DSN of a database, and drops the database at the end."""
    name = f"bare_insert_{uuid4().hex[:12]}"
    create, drop = sql.SQL("create database {}"), sql.SQL("drop database {} with (force)")
    with psycopg.connect(administrator, autocommit=True) as connection:
        connection.execute(create.format(sql.Identifier(name)))
        try:
            yield make_conninfo(administrator, dbname=name)
        finally:
            connection.execute(drop.format(sql.Identifier(name)))
