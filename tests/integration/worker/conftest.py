"""Provides a service and its database for the workers of a module."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from penstock_worker import Worker
from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service
from tests.support.sql.calls import Connection
from tests.support.wait import wait_until
from tests.support.workers import Start


@pytest.fixture(scope="module")
def service(shared_database: Database) -> Iterator[Service]:
    with running_service(shared_database.api_dsn) as service:
        yield service


@pytest.fixture(scope="module")
def sqs(service: Service) -> Iterator[Any]:
    client = service.sqs()
    yield client
    client.close()


@pytest.fixture
def db(shared_database: Database) -> Iterator[Connection]:
    with psycopg.connect(shared_database.api_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def start() -> Iterator[Start]:
    """Runs workers in threads, and stops them at the end of the test."""
    started: list[tuple[Worker[..., object], threading.Thread]] = []

    def start(worker: Worker[..., object]) -> None:
        thread = threading.Thread(target=worker.run)
        started.append((worker, thread))
        thread.start()

    yield start
    for worker, _ in started:
        worker.stop()
    wait_until(lambda: not any(thread.is_alive() for _, thread in started))
