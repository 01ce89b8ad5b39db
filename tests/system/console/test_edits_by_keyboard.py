"""Triages a dead-letter queue of 400 messages with three causes by keyboard alone, in a real browser: one group is
redriven, one needs an edit, and one is deleted.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.database import Database, TestServer
from tests.support.programs.penstock_service import Service, running_service

from .test_console_in_a_browser import opened

pytestmark = pytest.mark.browser

LETTERS = """
with moved as (
    insert into queue.side (id, visible_at, sent_at, message_id, queue_id, shard, body, system, entered_at)
    select nextval('queue.side_id'), now(), now(), gen_random_uuid(), d.queue_id, queue.side_shard(), b.body,
        jsonb_build_object('DeadLetterQueueSourceArn', s.arn, 'ApproximateReceiveCount', '3'), now()
    from queue.queues d, queue.queues s, (
        select format('{"order": %s, "error": "timeout"}', n) as body from generate_series(1, 240) n
        union all select format('{"order": %s, "customer": {"zip": null}}', n) from generate_series(1, 107) n
        union all select format('{"sku": "A-%s", "left": 0}', n) from generate_series(1, 53) n) b
    where d.name = 'jobs-dead' and s.name = 'jobs'
    returning queue_id)
insert into queue.activity (queue_id, sent) select queue_id, count(*) from moved group by queue_id
"""


@pytest.fixture
def installation(postgres: TestServer) -> Iterator[tuple[Database, Service]]:
    with postgres.database() as database, running_service(
        database.api_dsn, QUEUE_CONSOLE="full", QUEUE_METRICS_INTERVAL_MS="500", QUEUE_MOVE_INTERVAL_MS="100"
    ) as service:  # fmt: skip
        sqs = service.sqs()
        dead = sqs.create_queue(QueueName="jobs-dead")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})
        sqs.create_queue(QueueName="jobs", Attributes={"RedrivePolicy": policy})
        sqs.close()
        with psycopg.connect(database.dsn) as connection:
            connection.execute(LETTERS)
        yield database, service


class Keyboard:
    """Presses keys and counts them."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.keys = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.keys += 1

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.keys += len(text)

    def tab_to(self, text: str) -> None:
        """Presses Tab until the focus is on the button or link with this text."""
        for _ in range(20):
            self.press("Tab")
            if self.focused() == text:
                return
        raise AssertionError(text)

    def arrive(self, path: str) -> None:
        """Waits for a page that puts the focus on one of its elements. A browser does that after the page's load."""
        self.page.wait_for_url(re.compile(path))
        self.page.wait_for_function("document.activeElement !== document.body")

    def focused(self) -> str:
        return " ".join(self.page.evaluate("document.activeElement.textContent").split())

    def see_groups(self, *numbers: str) -> None:
        """Waits until the page shows groups of these sizes. F5 shows the groups after a move."""
        self.page.wait_for_url(re.compile("/console/queues/jobs-dead/failures"))
        found = None
        for _ in range(50):
            found = re.findall(r"(\d+) messages?\b", "\n".join(self.page.locator(".failure h2").all_inner_texts()))
            if found == list(numbers):
                return
            self.page.reload()
        raise AssertionError(found)


def redrive_the_first_group(hands: Keyboard, url: str) -> None:
    """Redrives the first group, which only needs another attempt."""
    hands.press("j", "r")
    hands.arrive("/redrive")
    hands.press("Tab")
    assert hands.focused() == "Redrive 240"
    hands.press("Enter")
    hands.page.locator(".badge", has_text="completed").wait_for()
    hands.page.goto(f"{url}/console/queues/jobs-dead/failures")  # a step back: Alt and the left arrow
    hands.keys += 2


def edit_the_second_group(hands: Keyboard) -> None:
    """Edits the second group, which needs a value."""
    hands.press("j", "e")
    hands.arrive("/replace")
    hands.type("customer.zip")
    hands.press("Tab")
    hands.type("12345")
    hands.press("Enter")
    hands.page.get_by_role("heading", name="Preview: 107 messages have this path").wait_for()
    assert hands.page.locator(".samples").count() == 3
    assert hands.focused() == "Cancel"
    hands.press("Tab")
    assert hands.focused() == "Send one first"
    hands.press("Enter")
    hands.page.get_by_role("status").get_by_text("Sent one edited message").wait_for()
    hands.page.locator("#sent", has_text="visible").wait_for()
    assert hands.page.locator("button.main").count() == 0
    assert re.fullmatch(r"message \d+", hands.focused())
    hands.tab_to("Leave the others")
    hands.press("Tab")
    assert hands.focused() == "Send the other 106 edited messages"
    hands.press("Enter")
    hands.page.get_by_role("status").get_by_text("Sent 106 edited messages").wait_for()
    assert hands.focused() == "Groups of failures"
    hands.press("Enter")


def delete_the_third_group(hands: Keyboard) -> None:
    """Deletes the third group, which nothing needs."""
    hands.press("j", "d")
    hands.page.get_by_role("heading", name="Delete 53 messages of jobs-dead?").wait_for()
    hands.arrive("/delete")
    assert hands.page.locator(".samples pre").count() == 3
    assert hands.focused() == "Cancel"
    hands.press("Tab")
    assert hands.focused() == "Delete 53 messages"
    hands.press("Enter")
    hands.page.get_by_role("status").get_by_text("53 messages of jobs-dead deleted").wait_for()
    hands.press("Tab")
    assert hands.focused() == "Undo u"
    hands.press("u")
    hands.page.get_by_role("status").get_by_text("Brought back: 53 messages.").wait_for()
    hands.see_groups("53")
    hands.press("j", "d")
    hands.page.get_by_role("heading", name="Delete 53 messages of jobs-dead?").wait_for()
    hands.arrive("/delete")
    hands.press("Tab", "Enter")
    hands.page.get_by_role("status").get_by_text("53 messages of jobs-dead deleted").wait_for()


def test_three_causes_are_triaged_by_keyboard(
    browser: Any, installation: tuple[Database, Service], capsys: pytest.CaptureFixture[str]
) -> None:
    database, service = installation
    with opened(browser) as page:
        hands = Keyboard(page)
        page.goto(f"{service.url}/console")
        page.locator(".items a", has_text="jobs-dead").wait_for()
        hands.press("j", "Enter")
        hands.see_groups("240", "107", "53")
        redrive_the_first_group(hands, service.url)
        hands.see_groups("107", "53")
        edit_the_second_group(hands)
        hands.see_groups("53")
        delete_the_third_group(hands)
    with psycopg.connect(database.dsn) as connection:
        bodies = connection.execute(
            "select q.name, m.body from queue.queues q cross join lateral queue.scan_messages(q.queue_id, null, 500) m"
        ).fetchall()
    assert {name for name, _ in bodies} == {"jobs"}
    assert sum('"zip": 12345' in body for _, body in bodies) == 107
    assert len(bodies) == 347
    with capsys.disabled():
        sys.stdout.write(f"\n400 dead letters, three causes, one edit: {hands.keys} keys\n")


def test_keys_select_over_pages_and_edit(browser: Any, installation: tuple[Database, Service]) -> None:
    _, service = installation
    with opened(browser) as page:
        hands = Keyboard(page)
        page.goto(f"{service.url}/console/queues/jobs-dead/messages")
        hands.press("j", "x", "j", "x")
        bar = page.locator("[data-chosen]")
        assert "2 selected · select all 400" in " ".join(bar.inner_text().split())
        page.get_by_role("button", name="Next 50").click()
        page.wait_for_url(re.compile("after="))
        assert bar.locator("span").inner_text() == "2"
        hands.press("j", "x")
        assert bar.locator("span").inner_text() == "3"
        hands.press("r")
        page.get_by_role("heading", name="Redrive 3 chosen messages?").wait_for()
        page.goto(f"{service.url}/console/queues/jobs-dead/messages")
        hands.press("j", "e")
        page.wait_for_url(re.compile(r"/messages/\d+/edit"))
        page.get_by_label("Body").fill('{"broken": ')
        page.get_by_role("button", name="Send and delete the original").click()
        assert "Send it as it is?" in page.get_by_role("alert").inner_text()
        assert page.get_by_label("Body").input_value() == '{"broken": '
        page.get_by_role("button", name="Send it as it is").click()
        page.get_by_role("status").get_by_text("The edited copy was sent").wait_for()
