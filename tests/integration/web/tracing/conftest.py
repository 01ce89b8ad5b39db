"""Provides a collector, and a service that sends it only the traces that callers sampled (docs/guides/tracing.md)."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import httpx
import pytest

from tests.support.database import TestServer
from tests.support.programs.penstock_service import Service, running_service
from tests.support.tracing.collector import Collector, running_collector

_numbers = count(1)


@contextmanager
def traced_service(postgres: TestServer, collector: Collector, **settings: str) -> Iterator[Service]:
    variables = {"OTLP_ENABLED": "true", "OTLP_ENDPOINT": collector.endpoint, "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"}
    with postgres.database() as database, running_service(database.api_dsn, **variables, **settings) as service:
        yield service


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with running_collector() as collector:
        yield collector


@pytest.fixture(scope="module")
def service(postgres: TestServer, collector: Collector) -> Iterator[Service]:
    with traced_service(postgres, collector, OTLP_SAMPLE_RATE="0", OTLP_SERVICE_NAME="orders-queue") as service:
        yield service


def new_trace() -> str:
    return f"{next(_numbers):032x}"


PARENT = "00f067aa0ba902b7"


def traceparent(trace_id: str, flags: str = "01") -> str:
    """Returns the traceparent of a span of the caller."""
    return f"00-{trace_id}-{PARENT}-{flags}"


def call(http: httpx.Client, action: str, headers: dict[str, str] | None = None, **members: Any) -> Any:
    """Calls an SQS action in JSON and returns the response."""
    response = http.post(
        "/",
        headers={
            "content-type": "application/x-amz-json-1.0",
            "x-amz-target": f"AmazonSQS.{action}",
            **(headers or {}),
        },
        json=members,
    )
    assert response.status_code == 200, response.text
    return response.json() if response.content else None
