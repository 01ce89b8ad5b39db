"""Provides an installation with one queue and without schedules. Markers of these tests turn the worker that fires
schedules off."""

import httpx
import pytest


@pytest.fixture
def http(http: httpx.Client) -> httpx.Client:
    """Provides the empty queue `orders` without schedules."""
    http.delete("/v1/queues/orders")
    http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
    http.put("/v1/schedules?prune=true", json=[]).raise_for_status()
    return http
