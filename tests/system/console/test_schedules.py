"""Creates a schedule in a real browser: the preview changes while the user writes, and the saved schedule is shown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.programs.penstock_service import Service

from .test_console_in_a_browser import opened

pytestmark = pytest.mark.browser


def test_a_schedule_is_previewed_saved_and_shown(browser: Any, console: Service) -> None:
    """The weekday schedule in Europe/Berlin fires at 09:30 local time, which the preview also shows in UTC."""
    with opened(browser) as page:
        page.goto(f"{console.url}/console/schedules")
        page.get_by_role("link", name="New schedule…").click()
        page.get_by_label("Name", exact=False).first.fill("browsed")
        expression = page.locator("input[name=expression]")
        expression.fill("cron(30 9 ? * MONN-FRI *)")
        preview = page.locator("#preview")
        preview.locator("mark").wait_for()
        assert "MON-FRI" in preview.inner_text()
        expression.fill("cron(30 9 ? * MON-FRI *)")
        page.get_by_text("Time zone, start and end").click()
        page.locator("input[name=timezone]").fill("Europe/Berlin")
        page.locator("input[name=start]").fill("2036-07-01T00:00")
        preview.get_by_text("Tue 2036-07-01 09:30:00 CEST").wait_for()
        rows = preview.locator("tbody tr").all_inner_texts()
        assert len(rows) == 10
        assert "2036-07-01 07:30:00 UTC" in rows[0]
        page.locator("input[name=target]").fill("orders")
        page.locator("textarea[name=input]").fill('{"do": "report"}')
        page.get_by_role("button", name="Create schedule").click()
        page.wait_for_url("**/console/schedules/browsed?done=scheduled")
        text = page.locator("main").inner_text()
        assert "The schedule was created." in text
        assert "At 09:30, Monday through Friday, Europe/Berlin" in text
        assert "2036-07-01 07:30:00 UTC" in text


def test_the_preview_works_without_scripts(browser: Any, console: Service) -> None:
    with opened(browser, java_script_enabled=False) as page:
        page.goto(f"{console.url}/console/schedules-new")
        page.locator("input[name=expression]").fill("cron(30 2 * * ? *)")
        page.get_by_text("Time zone, start and end").click()
        page.locator("input[name=timezone]").fill("Europe/Berlin")
        page.locator("textarea[name=input]").fill("kept")
        page.get_by_role("button", name="Preview the next ten").click()
        assert page.locator("#preview tbody tr").count() == 10
        assert "occurs twice" in page.locator("#preview").inner_text()
        assert page.locator("textarea[name=input]").input_value() == "kept"
