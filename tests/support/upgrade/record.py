"""Writes down what a release calls in SQL: `python -m tests.support.upgrade.record COMMIT
>tests/support/upgrade/calls.json`.

Done when a release is made, for the tests of the next one. Needs the history; the tests that read the file do not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from penstock.postgres.migrations import migrate
from tests.support.database import running_test_server
from tests.support.upgrade import release

_LIST = """
import importlib, json, pkgutil, re, sys
from penstock.effects import Statement
try:
    from penstock.postgres import statements
except ImportError:  # release 0.0.1
    from penstock import statements
modules = [statements]
for module in pkgutil.iter_modules(getattr(statements, "__path__", ())):  # releases after 0.0.2
    modules.append(importlib.import_module(f"{statements.__name__}.{module.name}"))
every = {id(v): v for m in modules for v in vars(m).values() if isinstance(v, Statement)}.values()
calls = [re.sub("[$][0-9]+", "null", s.text) for s in every]
sys.stdout.write(json.dumps(calls))
"""


def called_by(folder: Path) -> list[str]:
    """What the statements of an unpacked release say."""
    command = [sys.executable, "-c", _LIST]
    done = subprocess.run(
        command, env=release.environment_of(folder), capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


def results(connection: psycopg.Connection[Any], calls: list[str]) -> Iterator[tuple[str, list[str] | None]]:
    """Each call and its columns as the caller gets them; None when there is no such function or
    column. Nothing is called."""
    for call in calls:
        try:
            with connection.transaction():
                described = connection.execute(f"{call} where false".encode()).description or []
        except (psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedColumn):
            yield call, None
        else:
            yield call, [f"{column.name} {type_name(connection, column.type_code)}" for column in described]


def type_name(connection: psycopg.Connection[Any], oid: int) -> str:
    row = connection.execute("select format_type(%s, null)", (oid,)).fetchone()
    assert row is not None
    return str(row[0])


def main(commit: str) -> None:
    with tempfile.TemporaryDirectory() as place, running_test_server() as server:
        folder = release.unpack(Path(place), commit)
        with server.database(template="template0") as database:
            migrate(database.api_dsn, folder / "sql")
            with psycopg.connect(database.dsn) as connection:
                found = dict(results(connection, called_by(folder)))
    sys.stdout.write(json.dumps({"release": commit, "calls": found}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else release.PREVIOUS)
