"""docs/metrics.md says of /metrics what the code does, and the code has every metric of the specification."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.metrics_page import families, table

PAGE = (Path(__file__).parents[3] / "docs/metrics.md").read_text()

# The specification's table: name, type, labels, and of a histogram the least and the greatest bucket.
SPECIFIED = [
    ("penstock_http_requests_total", "counter", ("method", "path", "status"), ()),
    ("penstock_http_request_duration_seconds", "histogram", ("method", "path"), (0.005, 2.5)),
    ("penstock_http_requests_active", "gauge", (), ()),
    ("penstock_queue_messages_sent_total", "counter", ("queue",), ()),
    ("penstock_queue_messages_received_total", "counter", ("queue",), ()),
    ("penstock_queue_messages_deleted_total", "counter", ("queue",), ()),
    ("penstock_queue_messages_redelivered_total", "counter", ("queue",), ()),
    ("penstock_queue_message_send_duration_seconds", "histogram", ("queue",), (0.001, 1)),
    ("penstock_queue_message_receive_duration_seconds", "histogram", ("queue",), (0.001, 1)),
    ("penstock_queue_message_delete_duration_seconds", "histogram", ("queue",), (0.001, 1)),
    ("penstock_queue_message_age_at_receive_seconds", "histogram", ("queue",), (0.1, 3600)),
    ("penstock_queue_delivery_attempts_total", "counter", ("outcome",), ()),
    ("penstock_queue_delivery_attempt_duration_seconds", "histogram", ("outcome",), (0.05, 10)),
    ("penstock_queue_delivery_exhausted_total", "counter", (), ()),
    ("penstock_flush_messages", "histogram", (), (1, 1000)),
    ("penstock_queue_depth", "gauge", ("queue",), ()),
    ("penstock_queue_in_flight", "gauge", ("queue",), ()),
    ("penstock_db_pool_size", "gauge", (), ()),
    ("penstock_db_pool_idle", "gauge", (), ()),
    ("penstock_db_pool_active", "gauge", (), ()),
    ("penstock_db_pool_acquire_timeouts_total", "counter", (), ()),
]


def test_the_page_has_the_table_of_the_code() -> None:
    rows = re.findall(r"^\| `\w+` \| (?:counter|gauge|histogram) \|.*$", PAGE, re.MULTILINE)
    assert rows == table()


@pytest.mark.parametrize(("name", "kind", "labels", "ends"), SPECIFIED)
def test_a_specified_metric(name: str, kind: str, labels: tuple[str, ...], ends: tuple[float, ...]) -> None:
    ((family, own),) = [(family, own) for family, own in families() if family.name == name]
    assert (family.kind, own) == (kind, labels)
    assert (family.buckets[0], family.buckets[-1]) == ends if ends else not family.buckets


def test_names_are_unique() -> None:
    names = [family.name for family, _ in families()]
    assert len(names) == len(set(names))
