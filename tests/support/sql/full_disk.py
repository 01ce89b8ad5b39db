"""Makes inserts fail as on a full disk, with a trigger that raises PostgreSQL's error."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.support.database import Database


@contextmanager
def full_disk(database: Database) -> Iterator[None]:
    """Makes new rows of the probe and of messages fail."""
    with psycopg.connect(database.dsn, autocommit=True) as db:
        db.execute(
            "create function refuse() returns trigger language plpgsql as $$ begin"
            " raise disk_full using message = 'could not extend file: No space left on device'; end $$"
        )
        for table in ("write_probe", "log", "side"):
            create = (
                f"create trigger refuse before insert on queue.{table} for each statement execute function refuse()"
            )
            db.execute(create.encode())
        try:
            yield
        finally:
            db.execute("drop function refuse cascade")
