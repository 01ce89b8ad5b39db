"""A queue and no schedule. The tests say by their markers that no schedule fires by itself."""

import httpx
import pytest


@pytest.fixture
def http(http: httpx.Client) -> httpx.Client:
    """The queue `orders` is there and empty, and no schedule."""
    http.delete("/v1/queues/orders")
    http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
    http.put("/v1/schedules?prune=true", json=[]).raise_for_status()
    return http
