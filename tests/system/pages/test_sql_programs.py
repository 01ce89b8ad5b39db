"""Runs the programs in docs/guides/transactions.md that need additional packages: Django and node-postgres."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.support.clients.service_client import ROOT
from tests.support.database import Database
from tests.support.pages.script import blocks

pytestmark = pytest.mark.clients

PAGE = "docs/guides/transactions.md"
HERE = "tests/system/pages/test_sql_programs.py"
NODE = ROOT / ".tools/clients/node"
# A Django project puts the settings into settings.py, and calls the page's functions in views and commands.
DJANGO = """\
import os
from urllib.parse import urlsplit

import django
from django.conf import settings

address = urlsplit(os.environ["SHOP_URL"])
names = {"HOST": address.hostname, "PORT": address.port, "NAME": address.path.strip("/")}
login = {"USER": address.username, "PASSWORD": address.password}
settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", **names, **login}})
django.setup()

PAGE

place_order("shelf")
ship_orders()
with connection.cursor() as cursor:
    cursor.execute("select state from shop.orders where item = 'shelf'")
    print(cursor.fetchone())
"""
WRAPPERS = {"python": DJANGO, "javascript": "PAGE"}
PROGRAMS = {
    "python": (ROOT / ".tools/clients/clients/bin/python", "program.py"),
    "javascript": (Path("node"), "program.mjs"),
}


@pytest.fixture
def tables(database: Database) -> Database:
    """Creates the tables and the queue that the page creates above its programs."""
    (setup,) = [block.text for block in blocks(PAGE) if "create table shop.orders" in block.text]
    statements = setup.partition("<<'SQL'\n")[2].partition("SQL\n")[0]
    statements = re.sub("^(create role|grant) ", r"-- \1 ", statements, flags=re.MULTILINE)
    with psycopg.connect(database.api_dsn) as connection:
        connection.execute(statements.encode())
        connection.execute("select queue.create('shop-orders')")
    return database


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_program_sends_and_receives(tables: Database, tmp_path: Path, language: str) -> None:
    (program,) = [block.text for block in blocks(PAGE) if block.value == HERE and block.language == language]
    interpreter, name = PROGRAMS[language]
    (tmp_path / name).write_text(WRAPPERS[language].replace("PAGE", program))
    (tmp_path / "node_modules").symlink_to(NODE / "node_modules")  # Node searches packages beside the program.
    done = subprocess.run(
        [interpreter, tmp_path / name], env={**os.environ, "SHOP_URL": tables.api_dsn}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "shipped" in done.stdout
    with psycopg.connect(tables.api_dsn) as connection:
        assert connection.execute("select count(*), min(state) from shop.orders").fetchone() == (1, "shipped")
        assert connection.execute("select queue_length from queue.metrics('shop-orders')").fetchone() == (0,)
