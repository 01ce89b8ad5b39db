"""Tests that each interface says that the database refuses changes, while reads and purges work.

A trigger raises PostgreSQL's error in place of a full disk. tests/system/crash/test_full_disk.py fills a disk.
"""

from collections.abc import Iterator

import psycopg
import pytest

from penstock_web.cli import main
from penstock_web.doctor.checks import examine
from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service
from tests.support.sql.full_disk import full_disk
from tests.support.wait import wait_until
from tests.support.web.prometheus_text import scrape

FULL = {"status": "degraded", "writes": "disk full"}


@pytest.fixture
def service(database: Database) -> Iterator[Service]:
    soon = {f"penstock_web.database.write_probe.{name}_SECONDS": 0.05 for name in ("ACCEPTED", "REFUSED")}
    with running_service(database.api_dsn, constants=soon, QUEUE_LOCALSTACK_HEALTH="true") as service:
        yield service


def test_a_full_disk_is_named_until_it_has_space(
    database: Database, service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_services() -> set[str]:
        return set(http.get("/_localstack/health").json()["services"].values())

    monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)
    service.sqs().create_queue(QueueName="orders")
    assert main(["status"]) == 0
    assert "refuses" not in capsys.readouterr().out
    with service.http() as http:
        assert http.get("/readyz").json() == {"status": "ok"}
        with full_disk(database):
            assert http.post("/v1/queues/orders/messages", json={"message": 1}).status_code == 503
            wait_until(lambda: http.get("/readyz").json() == FULL)
            assert http.get("/readyz").status_code == 200
            assert http.get("/v1/queues").status_code == 200
            assert read_services() == {"error"}
            wait_until(lambda: scrape(service.url).value("penstock_db_writable") == 0)
            assert scrape(service.url).value("penstock_db_up") == 1
            assert main(["status"]) == 1
            printed = capsys.readouterr().out
            assert "refuses writes: disk full" in printed
            assert "queues" in printed
            outcome = examine({"DATABASE_URL": database.api_dsn})
            assert [one.page for one in outcome.findings if one.subject == "disk"] == ["/docs/operate/disk_full/"]
        wait_until(lambda: http.get("/readyz").json() == {"status": "ok"})
        wait_until(lambda: scrape(service.url).value("penstock_db_writable") == 1)
        assert read_services() == {"running"}
    assert "disk" not in [one.subject for one in examine({"DATABASE_URL": database.api_dsn}).findings]


def probe(db: psycopg.Connection[tuple[str]]) -> str:
    row = db.execute("select refusal from queue.probe_write()").fetchone()
    assert row
    return row[0]


def test_a_probe_leaves_no_rows(database: Database) -> None:
    with psycopg.connect(database.api_dsn, autocommit=True) as db:
        assert [probe(db) for _ in range(3)] == ["", "", ""]
        size = db.execute("select pg_relation_size('queue.write_probe')").fetchone()
        assert size == (0,)


def test_a_dump_that_reads_the_table_does_not_stop_the_probe(database: Database) -> None:
    with psycopg.connect(database.dsn) as dump, psycopg.connect(database.api_dsn, autocommit=True) as db:
        dump.execute("lock table queue.write_probe in access share mode")
        db.execute("set lock_timeout = '1s'")
        assert probe(db) == ""
        with full_disk(database):
            assert probe(db) == "disk full"
            dump.rollback()  # The end of full_disk waits for the lock.


def test_a_read_only_database(database: Database) -> None:
    with psycopg.connect(database.api_dsn, autocommit=True) as db:
        db.execute("set default_transaction_read_only = on")
        assert probe(db) == "read-only"
