"""Runs a worker in a separate process that a test may kill: `python -m tests.support.programs.schedule_worker DSN
SECONDS`.

The worker's clock is wrong by SECONDS: Python code reads the wrong time.
"""

import datetime as dt
import sys
import time
from contextlib import suppress
from typing import Any

import psycopg

_right_time = time.time
_right_now = dt.datetime.now


class _Wrong(type):
    """Makes `isinstance` accept real datetimes."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance).__name__.endswith("datetime")


def set_clock(seconds: int) -> None:
    """Changes the clock. Must run before any import from Penstock."""

    class WrongDatetime(dt.datetime, metaclass=_Wrong):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return _right_now(tz) + dt.timedelta(seconds=seconds)

    time.time = lambda: _right_time() + seconds
    dt.datetime = WrongDatetime  # type: ignore[misc]


def main(dsn: str) -> None:
    from penstock.settings import Settings
    from penstock.workers.fire import Firer

    firer = Firer(3600)
    settings = Settings.read({})
    while True:
        with (
            suppress(psycopg.OperationalError, psycopg.InterfaceError),
            psycopg.connect(dsn, autocommit=True, prepare_threshold=None, connect_timeout=5) as connection,
        ):
            while True:
                firer.run_once(settings, connection)


if __name__ == "__main__":
    set_clock(int(sys.argv[2]))
    main(sys.argv[1])
