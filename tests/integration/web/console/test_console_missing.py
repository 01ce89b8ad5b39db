"""Tests the page of a missing resource, which names its kind and its deletion, and links to the list of that kind."""

import re
from typing import Any

import pytest

from tests.support.web.console import Console, ConsoleInstallation

pytestmark = pytest.mark.xdist_group("console")


@pytest.mark.parametrize(
    ("noun", "create", "path", "listed"),
    [
        ("queue", ("/queues", {"name": "gone-orders"}), "/queues/gone-orders", "/queues"),
        ("topic", ("/topics", {"name": "gone-orders"}), "/topics/gone-orders", "/topics"),
        ("event bus", ("/buses", {"name": "gone-orders"}), "/buses/gone-orders", "/buses"),
        (
            "subscriber", ("/buses/kept-shop/subscribers", {"name": "gone-orders", "target": "kept-shop"}),
            "/buses/kept-shop/subscribers/gone-orders", "/buses/kept-shop",
        ),
        (
            "schedule", ("/schedules", {
                "name": "gone-orders", "cron": "0 3 * * *", "target": {"queue": "kept-shop", "message": 1}
            }), "/schedules/gone-orders", "/schedules",
        ),
    ],
)  # fmt: skip
def test_the_page_of_a_deleted_resource_says_who_deleted_it(
    console: Console, noun: str, create: tuple[str, dict[str, Any]], path: str, listed: str
) -> None:
    console.queue("kept-shop")
    with console.service.http() as http:
        http.post("/v1/buses", json={"name": "kept-shop"})
        http.post(f"/v1{create[0]}", json=create[1]).raise_for_status()
        assert "deleted" not in console.browser.get(f"/console{path}-2").text
        http.delete(f"/v1{path}").raise_for_status()
    page = console.browser.get(f"/console{path}")
    assert page.status_code == 404
    shown = " ".join(page.text.split())
    assert f"There is no {noun} “gone-orders”." in shown
    assert re.search(f'A user deleted the {noun} <time[^>]*>[^<]* ago</time> \\(<a href="/console/audit">', shown)
    assert f'<a href="/console{listed}">' in shown.partition("<main")[2]


def test_the_page_of_a_missing_name_suggests_another(console: Console) -> None:
    console.queue("suggested-orders")
    page = console.browser.get("/console/queues/sugested-orders")
    assert page.status_code == 404
    assert 'Did you mean <a href="/console/queues/suggested-orders">suggested-orders</a>?' in " ".join(
        page.text.split()
    )
    message = console.browser.get("/console/queues/suggested-orders/messages/77")
    assert message.status_code == 404
    for link in ("/messages", "/messages/77/life"):
        assert f'<a href="/console/queues/suggested-orders{link}">' in message.text


def test_a_reader_of_queues_sees_nothing_of_the_audit_log(installation: ConsoleInstallation) -> None:
    """Only `admin` of the built-in policies allows `penstock:ReadAudit`."""
    admin, reader = installation.browser("admin"), installation.browser("read")
    admin.post("/console/queues", name="gone-secret")
    admin.post("/console/queues/gone-secret/delete", typed="gone-secret")
    assert "admin deleted the queue" in " ".join(admin.get("/console/queues/gone-secret").text.split())
    shown = reader.get("/console/queues/gone-secret")
    assert (shown.status_code, "audit log" in shown.text, "There is no queue" in shown.text) == (404, False, True)
