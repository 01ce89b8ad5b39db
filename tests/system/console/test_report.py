"""The report of `penstock metrics report` under axe, in both themes, on a phone and on a screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock_web.cli import main
from tests.support.database import TestServer
from tests.support.programs.penstock_service import running_service
from tests.support.wait import wait_until
from tests.support.web.report_page import hostile_texts

pytestmark = pytest.mark.browser


def test_axe_finds_nothing_in_the_report(
    browser: Any, postgres: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    out = tmp_path / "report.html"
    with postgres.database() as database:
        with (
            running_service(database.api_dsn, QUEUE_METRICS_INTERVAL_MS="200") as service,
            service.http() as http,
        ):
            for number in range(12):
                http.post("/v1/queues", json={"name": f"queue-{number}"}).raise_for_status()
                for text in hostile_texts(50)[:number]:
                    http.post(
                        f"/v1/queues/queue-{number}/messages", json={"message": text}
                    ).raise_for_status()
            wait_until(lambda: backlog(http) == sum(range(12)))
        monkeypatch.setenv("DATABASE_URL", database.api_dsn)
        assert main(["metrics", "report", "--out", str(out)]) == 0
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
