"""Migrations come first, so the previous release runs on this schema: all that it calls is there, with its results.

The list was recorded when that release was made (record.py); test_rolling.py shows the same with its code.
"""

from __future__ import annotations

import json

import psycopg

from tests.support.database import Database
from tests.support.upgrade.record import results
from tests.support.upgrade.release import PREVIOUS, ROOT

RECORDED = json.loads((ROOT / "tests/support/upgrade/calls.json").read_text())


def test_the_list_is_that_of_the_previous_release() -> None:
    assert RECORDED["release"] == PREVIOUS
    assert None not in RECORDED["calls"].values()


def test_everything_it_calls_is_there(database: Database) -> None:
    with psycopg.connect(database.dsn) as connection:
        assert dict(results(connection, list(RECORDED["calls"]))) == RECORDED["calls"]
