"""Tests the states and the targets of subscribers on the pages of event buses."""

import pytest

from penstock.context import Context
from penstock.environment import build_worker_environment
from penstock.http import HttpRequest
from penstock.management.attention.concerns import describe_late_work
from penstock.postgres.statements.metrics import LateWorkRow
from penstock.settings import Settings
from penstock_web.console.buses.fields import describe_target
from penstock_web.console.screens.buses import State, find_states


def test_the_worst_of_several_concerns_is_the_state() -> None:
    found = [
        describe_late_work(LateWorkRow("subscriber_drops", "billing", 1, None, "gone", owner="orders")),
        describe_late_work(LateWorkRow("subscriber_fails", "billing", 1, None, "gone", owner="orders")),
        describe_late_work(LateWorkRow("subscriber_fails", "billing", 1, None, "gone", owner="other")),
    ]
    assert find_states("orders", found) == {
        "billing": State("drops events", "bad", "1 event dropped, no failure queue: gone.")
    }


OWN = "arn:aws:events:us-east-1:123456789012"
UUID = "4e5f6a7b-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("arn", "kind", "name"),
    [
        (f"{OWN}:api-destination/crm/{UUID}", "API destination", "crm"),
        (f"{OWN}:api-destination/crm", "", f"{OWN}:api-destination/crm"),
        (f"arn:aws:events:us-east-1:210987654321:api-destination/crm/{UUID}", "API destination",
         f"arn:aws:events:us-east-1:210987654321:api-destination/crm/{UUID}"),
        ("arn:aws:sqs:us-east-1:123456789012:orders", "queue", "orders"),
    ],
)  # fmt: skip
def test_a_target_of_the_account_has_its_name(arn: str, kind: str, name: str) -> None:
    environment = build_worker_environment(Settings.read({}))
    context = Context("123456789012", "us-east-1", "", environment, HttpRequest("GET", "/", b"", {}, b""))
    assert describe_target(arn, context)[:2] == (kind, name)
