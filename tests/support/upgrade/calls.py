"""What the statements of a release call in SQL, and what they get. Nothing is called."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from tests.support.upgrade import release

_LIST = """
import importlib, json, pkgutil, re, sys
from penstock.effects import Statement
from penstock.postgres import statements
names = [m.name for m in pkgutil.iter_modules(statements.__path__)]
modules = [importlib.import_module(f"{statements.__name__}.{name}") for name in names]
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
