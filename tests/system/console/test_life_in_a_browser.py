"""Follows a message in a real browser: a failure, a redrive, another failure, an edit, and the life that tells all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.database import TestServer
from tests.support.programs.penstock_service import Service, running_service

from .test_console_in_a_browser import opened

pytestmark = pytest.mark.browser

FITS = "(table => table.scrollWidth <= table.clientWidth)(document.querySelector('.table'))"
IS_WHOLE = """[...document.querySelectorAll(".life a[href^='/console/queues/']")]
  .every(link => link.getClientRects().length === 1 && getComputedStyle(link).display === "inline")"""
"""No line breaks in the name of a queue."""


@pytest.fixture
def service(postgres: TestServer) -> Iterator[Service]:
    with postgres.database() as database, running_service(
        database.api_dsn, QUEUE_CONSOLE="full", QUEUE_MOVE_INTERVAL_MS="100"
    ) as service:  # fmt: skip
        yield service


def fail(http: Any, error: str) -> None:
    """Receives the message of `orders` and reports a cause. The second receive makes the message a dead letter."""
    (message,) = http.get("/v1/queues/orders/messages").json()
    path = f"/v1/queues/orders/messages/{message['receipt']}/fail"
    http.post(path, json={"error": error, "vt": 0}).raise_for_status()
    assert http.get("/v1/queues/orders/messages").json() == []


def events(page: Any) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(".life td:nth-child(2)").all_inner_texts()]


def test_a_life_shows_each_failure_move_and_edit(browser: Any, service: Service) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with service.http() as http, opened(browser, viewport={"width": 1280, "height": 900}) as page:
        dead = http.post("/v1/queues", json={"name": "orders-dead"}).json()["arn"]
        policy = {"deadLetterTargetArn": dead, "maxReceiveCount": 1}
        http.post("/v1/queues", json={"name": "orders", "attributes": {"RedrivePolicy": policy}}).raise_for_status()
        http.post("/v1/queues/orders/messages", json={"message": {"order": 1}}).raise_for_status()
        fail(http, "no stock 1")
        # The list shows the cause, and a user redrives the message.
        page.goto(f"{service.url}/console/queues/orders-dead/messages")
        assert page.locator("td.cause").inner_text() == "no stock 1"
        page.locator("[data-row] input[name=id]").check()
        page.get_by_role("button", name="Redrive\u2026").click()
        page.get_by_role("button", name="Redrive 1", exact=True).click()
        page.locator(".badge", has_text="completed").wait_for()
        fail(http, "no stock 2")
        # The dead letter's life has both failures and all moves.
        page.goto(f"{service.url}/console/queues/orders-dead/messages")
        page.get_by_title("Life of the message").click()
        page.wait_for_url(re.compile("/life"))
        expected = [
            "sent", "received no. 1", "failed receive 1", "became a dead letter", "a person's act", "moved",
            "received no. 1", "failed receive 1", "became a dead letter",
        ]  # fmt: skip
        assert events(page) == expected
        assert page.locator(".life pre").all_inner_texts() == ["no stock 1", "no stock 2"]
        assert page.get_by_text("Id before the redrive").count() == 1
        assert page.evaluate(IS_WHOLE)
        # An edited copy shows the life of the original, marked as such.
        page.goto(page.url.partition("/life")[0] + "/edit")
        page.locator("textarea[name=body]").fill('{"order": 2}')
        page.get_by_role("button", name="Send and delete the original").click()
        page.wait_for_url(re.compile("/messages"))
        (copy,) = http.get("/v1/queues/orders/messages/peek").json()
        page.goto(f"{service.url}/console/queues/orders/messages/{copy['id']}/life")
        originals = [text for text in events(page) if text.endswith("the original")]
        assert [text.removesuffix(" the original") for text in originals][: len(expected)] == expected
        assert page.get_by_text("Id before the edit").count() == 1
        for width in (400, 1280, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(IS_WHOLE), width
            assert page.evaluate(FITS), width
            violations = Axe().run(page).response["violations"]
            assert [(found["id"], found["nodes"][0]["html"][:200]) for found in violations] == []
