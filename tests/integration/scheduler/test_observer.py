"""Tests the events that the worker reports while it fires."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

import psycopg
import pytest

from penstock.observing.observer import Observer
from penstock.settings import Settings
from penstock.workers.fire import Firer
from tests.support.database import Database
from tests.support.schedules.rows import Hour, pass_time, put
from tests.support.sql.calls import Connection

HOUR = timedelta(hours=1)


class Heard(Observer):
    """Records the reports."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.counts: Counter[str] = Counter()

    def fired(self, late_seconds: float) -> None:
        self.late.append(late_seconds)

    def counted(self, counts: Mapping[str, int]) -> None:
        self.counts.update(counts)


def test_how_late_each_occurrence_fires_and_what_became_of_it(database: Database, db: Connection, hour: Hour) -> None:
    """The report leaves out occurrences with a flexible window, because they are never late."""
    db.execute("select queue.create('jobs')")
    put(db, "late", hour() - HOUR, catchup=True)
    put(db, "any time", hour() - HOUR, catchup=True, jitter_seconds=30)
    pass_time(db, 60)
    heard = Heard()
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        counts = Firer(60, continues=False, observer=heard).run_once(Settings.read({}), connection)
    assert counts["fired"] == 4
    assert heard.counts == Counter(dict(counts))
    assert len(heard.late) == 2
    assert max(heard.late) - min(heard.late) == pytest.approx(3600)
    assert min(heard.late) >= 0
