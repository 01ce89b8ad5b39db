"""docs/operations.md: every query runs on the schema of this release, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from tests.support.database import Database

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/operations.md").read_text()
QUERIES = re.findall(r"^```sql\n(?!begin;)(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CONTAINER = ROOT / "infra/container"


def test_there_are_queries() -> None:
    assert len(QUERIES) >= 15


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_runs(database: Database, query: str) -> None:
    """For the owner, as the page says, and in a transaction that may not write."""
    with psycopg.connect(database.api_dsn) as connection:
        connection.execute("select queue.create('a'), queue.create_fifo('b.fifo'), queue.send('a', '1')")
        connection.commit()
        connection.read_only = True
        assert connection.execute(query.encode()).description


def test_a_poison_message_is_found(database: Database) -> None:
    (query,) = [q for q in QUERIES if "receive_count > 3" in q]
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        connection.execute("select queue.create('q'), queue.send('q', '1')")
        for _ in range(5):
            connection.execute("select * from queue.receive('q', 0, 1)")
        assert [row[0] for row in connection.execute(query.encode())] == ["q"]


def test_a_listener_is_found(database: Database) -> None:
    (query,) = [q for q in QUERIES if "listen penstock" in q]
    with (
        psycopg.connect(database.api_dsn, autocommit=True) as connection,
        psycopg.connect(database.api_dsn, autocommit=True) as listener,
    ):
        listener.execute("listen penstock")
        assert [row[0] for row in connection.execute(query.encode())] == [listener.info.backend_pid]


def test_an_old_snapshot_is_found(database: Database, empty_database: Database) -> None:
    """Of this database: vacuum does not wait for the snapshots of others."""
    query = next(q for q in QUERIES if "backend_xmin is not null" in q)
    with (
        psycopg.connect(database.dsn, autocommit=True) as connection,
        psycopg.connect(database.dsn) as application,
        psycopg.connect(empty_database.dsn) as stranger,
    ):
        for holder in (stranger, application):
            holder.execute("set transaction isolation level repeatable read")
            holder.execute("select 1")
        found = [row[0] for row in connection.execute(query.encode())]
        assert application.info.backend_pid in found
        assert stranger.info.backend_pid not in found


def anchors() -> set[str]:
    """Of the headings, as the usual renderers make them."""
    titles = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    assert links
    for link in links:
        path, _, anchor = link.partition("#")
        assert not path or (ROOT / "docs" / path).exists(), link
        assert not anchor or path or anchor in anchors(), link


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CONTAINER / "compose.yaml").read_text())
    return loaded


def test_compose_mounts_what_is_there_and_opens_ports_to_this_machine_only() -> None:
    for service in compose()["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in compose()["volumes"] or (CONTAINER / source).exists()
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")


def test_compose_confines_the_service_and_its_workers() -> None:
    for name in ("migrate", "penstock", "workers"):
        service = compose()["services"][name]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
