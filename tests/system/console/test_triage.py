"""Triages a dead-letter queue by keyboard in a real browser: failures, reasons, redrive of one message, and redrive of
the other messages.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock_web.cli import main
from tests.support.database import TestServer
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until
from tests.support.web.console import hostile_texts

from .test_console_in_a_browser import opened

pytestmark = pytest.mark.browser

GROUPS = {"timeout": 240, "address": 120, "stock": 53}
"""There are 413 dead letters that failed in three ways."""
BODIES: dict[str, Callable[[int], object]] = {
    "timeout": lambda n: {"order": n, "error": "timeout"},
    "address": lambda n: {"order": n, "customer": {"zip": None}},
    "stock": lambda n: {"sku": f"A-{n}", "left": 0},
}
LONGEST_MS = 120_000
A_MILLION = 2_422
"""The slow test multiplies the number of dead letters by A_MILLION. The test has 1,000,286 dead letters, and takes two
minutes: `make test-browser ARGS="-m slow"`.
"""


@pytest.fixture
def times() -> int:
    return 1


@pytest.fixture
def service(postgres: TestServer, times: int) -> Iterator[Service]:
    with postgres.database() as database, running_service(
        database.api_dsn, QUEUE_CONSOLE="full", QUEUE_METRICS_INTERVAL_MS="500", QUEUE_MOVE_INTERVAL_MS="100"
    ) as service:  # fmt: skip
        fill(service)
        if times > 1:
            fill_by_sql(database.dsn, times - 1)
        yield service


def fill(service: Service) -> None:
    """Receives the messages in `jobs` once without a delete. The next receive moves the messages to `jobs-dead`."""
    sqs = service.sqs()
    dead = sqs.create_queue(QueueName="jobs-dead")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    jobs = sqs.create_queue(QueueName="jobs", Attributes={"RedrivePolicy": policy})["QueueUrl"]
    bodies = [json.dumps(BODIES[kind](n)) for kind, number in GROUPS.items() for n in range(number)]
    for start in range(0, len(bodies), 10):
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies[start : start + 10])]
        assert not sqs.send_message_batch(QueueUrl=jobs, Entries=entries).get("Failed")
    while visible(sqs, dead) < len(bodies):
        sqs.receive_message(QueueUrl=jobs, MaxNumberOfMessages=10, VisibilityTimeout=0)
    sqs.close()


def fill_by_sql(dsn: str, times: int) -> None:
    """Adds the messages of `fill` `times` times. The groups alternate, because the console groups only the first
    messages of a queue."""
    bodies = [json.dumps(BODIES[kind](n)) for kind, number in GROUPS.items() for n in range(number)]
    random.Random(413).shuffle(bodies)
    with psycopg.connect(dsn, autocommit=True) as db:
        for _ in range(times):
            db.execute("select queue.send_batch('jobs', %s::text[]::jsonb[])", [bodies])
        while db.execute("select queue_length > 0 from queue.metrics('jobs')").fetchone() == (True,):
            db.execute("select from queue.receive('jobs', vt => 0, qty => 1000)")
        db.execute("analyze")


def visible(sqs: Any, url: str) -> int:
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(found["Attributes"]["ApproximateNumberOfMessages"])


class Triage:
    """Imitates a user at the keyboard, and measures the duration of each step."""

    def __init__(self, page: Any, service: Service, times: int) -> None:
        self.page = page
        self.times = times
        self.url = f"{service.url}/console"
        self.began = 0.0
        self.marks: list[str] = []

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def focused(self) -> str:
        return str(self.page.evaluate("document.activeElement.textContent"))

    def mark(self, what: str) -> None:
        self.marks.append(f"{what} {time.monotonic() - self.began:.1f} s")

    def see_the_badge(self) -> None:
        self.page.goto(self.url)
        self.page.locator(".items a", has_text="jobs-dead").wait_for()
        self.began = time.monotonic()

    def look(self) -> None:
        """Shows the groups, three samples from the largest group side by side, and the samples as Markdown."""
        self.press("j", "Enter")
        self.page.wait_for_url(re.compile("/console/queues/jobs-dead/failures"))
        titles = self.page.locator(".failure h2").all_inner_texts()
        groups = re.findall(r"([\d,]+) messages?\b", "\n".join(titles))
        if self.times == 1:
            assert groups == ["240", "120", "53"]
        assert len(groups) == len(GROUPS)
        self.mark("grouped")
        self.press("j")
        row = self.page.locator("[data-row].current")
        assert row.locator("figure").count() == 3
        differing = {text.partition(":")[0].strip() for text in row.locator("mark").all_inner_texts()}
        assert differing == {'"order"'}
        self.press("c")
        self.page.get_by_role("button", name="Copied").wait_for()
        copied = self.page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith(f"**{groups[0]} dead letters in jobs-dead**")
        self.mark("copied as Markdown")

    def redrive_the_group(self) -> None:
        """Redrives one message first, and the other messages after the first message has returned."""
        self.press("r")
        self.page.wait_for_url(re.compile("/console/queues/jobs-dead/redrive"))
        assert self.focused() == "Redrive one first"
        self.press("Enter")
        self.page.locator(".badge", has_text="waiting").first.wait_for()
        self.mark("one is back")
        # The poll brings the link. A second Enter shows the message, and does not send all others.
        self.page.wait_for_function("/^message [0-9]+$/.test(document.activeElement.textContent)")
        assert self.page.locator("td.selected").first.bounding_box()["width"] > 180
        self.press("Enter")
        self.page.get_by_role("heading", name="Life of a message").wait_for()
        self.page.go_back()
        self.page.locator(".canary .badge", has_text="waiting").wait_for()
        self.page.get_by_role("link", name="message").first.focus()
        self.press("Tab")
        assert self.focused() == "Continue"
        total = self.page.locator("td[data-label=Total]").first.inner_text().strip()
        assert total == str(GROUPS["timeout"]) or self.times > 1
        self.press("Enter")
        # The slow test waits only for the first hundred messages, because all messages would take hours at 50 a second.
        if self.times > 1:
            self.page.locator("td[data-label=Moved]", has_text=re.compile(r"^\s*\d{3,}")).first.wait_for()
            self.mark("a hundred are back")
            return
        self.page.locator(".badge", has_text="completed").wait_for()
        self.mark("its group is back")

    def redrive_the_rest(self) -> None:
        self.page.goto(f"{self.url}/queues/jobs-dead/failures")
        self.press("r")
        self.page.wait_for_url(re.compile("/console/queues/jobs-dead/redrive"))
        self.page.locator("button[name=first]:focus").wait_for()  # The browser sets it after the page has arrived.
        self.press("Tab")
        assert re.fullmatch("Redrive all [0-9]+", self.focused())
        self.press("Enter")
        self.page.locator("progress").first.wait_for()
        self.page.locator("tbody tr:first-child .badge", has_text="completed").wait_for()
        self.mark("all are back")


@pytest.mark.parametrize("times", [1, pytest.param(A_MILLION, marks=pytest.mark.slow)])
def test_dead_letters_are_triaged_by_keyboard(
    browser: Any, service: Service, times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(browser, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.set_default_timeout(LONGEST_MS)
        triage = Triage(page, service, times)
        triage.see_the_badge()
        triage.look()
        triage.redrive_the_group()
        if times == 1:
            triage.redrive_the_rest()
            page.goto(f"{service.url}/console/audit")
            assert page.locator("tbody").inner_text().count("StartMessageMoveTask") == 3
    if times > 1:
        with service.http() as http:
            (move,) = http.get("/v1/queues/jobs-dead/moves").json()["moves"]
            assert http.post(f"/v1/queues/jobs-dead/moves/{move['id']}/cancel").json()["moved"] > 1
    sqs = service.sqs()
    back, dead = visible(sqs, "jobs"), visible(sqs, "jobs-dead")
    assert back > 1
    assert times > 1 or dead == 0
    assert back + dead == times * sum(GROUPS.values())
    with capsys.disabled():
        sys.stdout.write(f"\ntriage: {', '.join(triage.marks)}\n")


# --- report ----------------------------------------------------------------------------------------------------------
# Tests the report from `penstock metrics report` with axe, in both themes, on a phone and on a screen.


def test_axe_finds_nothing_in_the_report(
    browser: Any, postgres: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    out = tmp_path / "report.html"
    with postgres.database() as database:
        with running_service(database.api_dsn, QUEUE_METRICS_INTERVAL_MS="200") as service, service.http() as http:
            for number in range(12):
                http.post("/v1/queues", json={"name": f"queue-{number}"}).raise_for_status()
                for text in hostile_texts(50)[:number]:
                    http.post(f"/v1/queues/queue-{number}/messages", json={"message": text}).raise_for_status()
            wait_until(lambda: backlog(http) == sum(range(12)))
        monkeypatch.setenv("DATABASE_URL", database.api_dsn)
        assert main(["metrics", "report", "--output", str(out)]) == 0
    found = {}
    for theme in ("light", "dark"):
        for width in (320, 1280):
            context = browser.new_context(
                color_scheme=theme, viewport={"width": width, "height": 900}, reduced_motion="reduce"
            )
            page = context.new_page()
            page.goto(out.as_uri())
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            violations = Axe().run(page).response["violations"]
            if violations:
                found[theme, width] = [(v["id"], v["nodes"][0]["html"][:200]) for v in violations]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            context.close()
    assert found == {}


def backlog(http: Any) -> int:
    queues = http.get("/v1/metrics/lag").json()["queues"]
    return sum((queue["verdict"] or {"backlog": 0})["backlog"] for queue in queues)
