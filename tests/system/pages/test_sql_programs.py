"""Runs the programs of docs/guides/your_database.md that need additional packages: Django, and node-postgres."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.support.clients.service_client import ROOT
from tests.support.database import Database
from tests.support.pages.blocks import blocks

pytestmark = pytest.mark.clients

PAGE = "docs/guides/your_database.md"
HERE = "tests/system/pages/test_sql_programs.py"
NODE = ROOT / ".tools/clients/node"
PROGRAMS = {
    "python": (ROOT / ".tools/clients/clients/bin/python", "program.py"),
    "javascript": (Path("node"), "program.mjs"),
}


@pytest.fixture
def tables(database: Database) -> Database:
    """Returns the tables and the queue that the page has created above its programs."""
    (setup,) = [block.text for block in blocks(PAGE) if "create table shop.orders" in block.text]
    statements = setup.partition("<<'SQL'\n")[2].partition("SQL\n")[0].replace("grant ", "-- grant ")
    with psycopg.connect(database.api_dsn) as connection:
        connection.execute(statements.encode())
        connection.execute("select queue.create('orders')")
    return database


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_program_sends_and_receives(tables: Database, tmp_path: Path, language: str) -> None:
    (program,) = [block.text for block in blocks(PAGE) if block.value == HERE and block.language == language]
    interpreter, name = PROGRAMS[language]
    (tmp_path / name).write_text(program)
    (tmp_path / "node_modules").symlink_to(NODE / "node_modules")  # Imports are looked up beside the program.
    done = subprocess.run(
        [interpreter, tmp_path / name], env={**os.environ, "SHOP_URL": tables.api_dsn}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "shipped" in done.stdout
    with psycopg.connect(tables.api_dsn) as connection:
        assert connection.execute("select count(*), min(state) from shop.orders").fetchone() == (1, "shipped")
        assert connection.execute("select queue_length from queue.metrics('orders')").fetchone() == (0,)
