"""Gives the functions that clients call the planner settings that they need, whoever calls them.

A function has them while it runs, with all that it calls, and the caller's session keeps its own. Measured on
PostgreSQL 15 and 18: six settings cost a call 2 µs. Functions in SQL are left out: PostgreSQL could no longer make
their query a part of the caller's.
"""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

import psycopg

from penstock.effects import Row, Statement

from . import statements
from .session_settings import PLANNER_SETTINGS

_FIND: Final = """
select p.oid::regprocedure::text from pg_proc p join pg_language l on l.oid = p.prolang
where p.pronamespace = 'queue'::regnamespace and p.proname = any (%s) and l.lanname = 'plpgsql'
"""
_SET: Final = " ".join(f"set {name} = {value}" for name, value in PLANNER_SETTINGS.items())


def list_called_functions(directory: Path) -> list[str]:
    """The names of the functions that the service or applications call, without the schema's. `directory`: sql/."""
    service = {
        each.name
        for module in iter_modules(statements.__path__, f"{statements.__name__}.")
        for each in vars(import_module(module.name)).values()
        if isinstance(each, Statement)
    }
    applications = {path.stem for path in (directory / "functions/api").glob("*.sql")}
    return sorted(name.removeprefix("queue.") for name in service | applications)


def fingerprint(directory: Path) -> bytes:
    """What these settings depend on: when it differs, functions are applied anew."""
    return " ".join([_SET, *list_called_functions(directory)]).encode()


def set_on_functions(connection: psycopg.Connection[Row], directory: Path) -> None:
    """Sets them on the functions that exist. The role owns them."""
    for (signature,) in connection.execute(_FIND, (list_called_functions(directory),)).fetchall():
        connection.execute(f"alter function {signature} {_SET}".encode())
