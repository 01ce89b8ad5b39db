"""Creates a topic, subscribes a queue with a filter, tests the filter, and publishes, in a real browser and with forms
alone.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.programs.penstock_service import Service

from .test_console_in_a_browser import expect, opened

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_a_message_reaches_a_queue_that_the_browser_subscribed(browser: Any, console: Service, scripts: bool) -> None:
    name = f"bought-{'by' if scripts else 'without'}-scripts"
    sqs = console.sqs()
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    with opened(browser, java_script_enabled=scripts) as page:
        page.goto(f"{console.url}/console/topics")
        page.get_by_text("New topic…").click()
        page.locator("[name=name]").fill(name)
        page.get_by_role("button", name="Create topic").click()
        page.get_by_role("link", name="Subscribe…").click()
        page.locator("[name=endpoint]").fill(name)
        page.locator("[name=filter]").fill('{"kind": ["order", }')
        page.get_by_role("button", name="Subscribe").click()
        expect(page.get_by_text("Line 1, column 20")).to_be_visible()
        page.locator("[name=filter]").fill('{"kind": ["order"]}')
        for kind, result in (("refund", "The message does not pass."), ("order", "The message passes.")):
            page.get_by_label("Name of attribute 1").fill("kind")
            page.get_by_label("Value of attribute 1").fill(kind)
            page.get_by_role("button", name="Test the filter").click()
            page.get_by_text(result).wait_for()
        page.get_by_role("button", name="Subscribe").click()
        page.get_by_text("The endpoint is subscribed.").wait_for()
        for kind in ("refund", "order"):
            page.goto(f"{console.url}/console/topics/{name}")
            page.get_by_role("link", name="Publish…").click()
            page.locator("[name=body]").fill(f"a {kind}")
            page.get_by_label("Name of attribute 1").fill("kind")
            page.get_by_label("Value of attribute 1").fill(kind)
            page.get_by_role("button", name="Publish").click()
            page.get_by_text("The message was published.").wait_for()
    (message,) = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=10)["Messages"]
    assert json.loads(message["Body"])["Message"] == "a order"
    sqs.close()
