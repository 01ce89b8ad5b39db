"""Tests the keys of the console in a browser: which row Enter opens, and where the focus is after a poll."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs.penstock_service import Service

from .test_console_in_a_browser import expect, opened

pytestmark = pytest.mark.browser

FOCUS = "document.activeElement.textContent.trim()"


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def create(service: Service, *names: str) -> dict[str, str]:
    sqs = service.sqs()
    urls = {name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in names}
    sqs.close()
    return urls


def test_enter_opens_the_message_of_the_row(browser: Any, console: Service) -> None:
    with opened(browser) as page:
        page.goto(f"{console.url}/console/queues/hostile/messages")
        link = page.locator("a.preview").nth(1).get_attribute("href")
        press(page, "j", "j", "x")
        page.locator("[data-row].current input").focus()  # as after a click on the checkbox
        press(page, "Enter")
        page.wait_for_url(f"{console.url}{link}")


def test_enter_on_a_checkbox_does_not_select_all(browser: Any, console: Service) -> None:
    """Enter on a field presses the first button of the field's form, also without scripts."""
    with opened(browser, java_script_enabled=False) as page:
        page.goto(f"{console.url}/console/queues/hostile/messages")
        page.get_by_role("checkbox").first.focus()
        press(page, "Enter")
        page.wait_for_url("**/messages?*")
        assert page.locator("[data-row] input:checked").count() == 0
        assert "all=yes" not in page.url


def test_highlight_and_focus_follow_the_row_when_a_poll_sorts_the_list(browser: Any, console: Service) -> None:
    urls = create(console, "sorted-a", "sorted-b", "sorted-c")
    sqs = console.sqs()
    with opened(browser) as page:
        page.goto(f"{console.url}/console/queues?q=sorted-&sort=visible")
        page.locator("[data-row]", has_text="sorted-c").wait_for()
        names = page.locator("[data-row] a.name").all_inner_texts()
        press(page, "j", "j")
        middle, last = names[1], names[2]
        sqs.send_message(QueueUrl=urls[last], MessageBody="x")
        page.locator("[data-row]:first-child", has_text=last).wait_for()
        assert page.locator("[data-row].current a.name").all_inner_texts() == [middle]
        assert page.evaluate(FOCUS) == middle
        sqs.delete_queue(QueueUrl=urls[middle])
        page.locator("[data-row]", has_text=middle).wait_for(state="detached")
        assert page.locator("[data-row].current").count() == 0
        assert page.evaluate("document.activeElement.id") == "main"
        press(page, "Enter")
        assert page.url.endswith("/console/queues?q=sorted-&sort=visible")
    sqs.close()


def test_every_key_is_in_the_help_and_the_guide(browser: Any, console: Service) -> None:
    with opened(browser) as page:
        page.goto(f"{console.url}/console/system")
        press(page, "?")
        shown = {" ".join(text.split()) for text in page.locator("#help dt").all_inner_texts()}
    guide = Path("docs/guides/console.md").read_text().partition("## Keys")[2].partition("\n## ")[0]
    assert shown == {cell.replace("`", "") for cell in re.findall(r"^\| (`[^|]+`) \|", guide, re.MULTILINE)}


def test_keys_of_a_queue(browser: Any, console: Service) -> None:
    with opened(browser) as page:
        queue = f"{console.url}/console/queues/orders-dead"
        page.goto(queue)
        for key, end in (("]", "/messages"), ("]", "/failures"), ("[", "/messages"), ("b", "/failures")):
            press(page, key)
            page.wait_for_url(f"{queue}{end}")
        page.goto(f"{queue}/redrive")
        press(page, "b")
        page.wait_for_url(f"{queue}/failures")
        page.goto(f"{queue}/failures?by=shape")
        press(page, "d")  # A page without a current row has no group to delete.
        expect(page.get_by_text("Nothing is selected.")).to_be_visible()
        press(page, "j")
        expect(page.locator("#status")).to_be_hidden()
        press(page, "d")
        page.get_by_role("heading", name=re.compile("Delete .* of orders-dead")).wait_for()


def test_d_asks_about_the_current_message(browser: Any, console: Service) -> None:
    with opened(browser) as page:
        page.goto(f"{console.url}/console/queues/hostile/messages")
        press(page, "j", "j", "d")
        page.get_by_role("heading", name="Delete 1 message of hostile?").wait_for()
        assert page.evaluate(FOCUS) == "Cancel"
        press(page, "Enter")
        page.wait_for_url("**/messages?*")
        assert page.locator(".undo").count() == 0


@pytest.mark.parametrize(
    ("tab", "key"), [("messages", "r"), ("messages", "e"), ("messages", "d"), ("failures", "e"), ("failures", "d")]
)
def test_a_key_without_a_row_or_a_selection_says_that_nothing_is_selected(
    browser: Any, console: Service, tab: str, key: str
) -> None:
    with opened(browser) as page:
        address = f"{console.url}/console/queues/orders-dead/{tab}"
        page.goto(address)
        press(page, key)
        expect(page.get_by_text("Nothing is selected.")).to_be_visible()
        assert page.url == address


def test_u_undoes_a_deletion_on_another_page_until_the_time_is_over(browser: Any, console: Service) -> None:
    """A poll shows the seconds that remain. The last poll removes the button and ends the polls."""
    polls: list[str] = []
    with opened(browser) as page:
        page.on("request", lambda request: polls.append(request.url) if "messages/undo" in request.url else None)
        delete_first(page, console)
        assert page.evaluate("document.activeElement.id") == "undo"
        page.goto(f"{console.url}/console/audit")
        assert "1 message of hostile deleted" in page.locator("#undo").inner_text()
        press(page, "u")
        page.wait_for_url("**/messages?*done=undone*")
        assert page.locator("input[name=id]:checked").count() == 1
        delete_first(page, console)
        cookies = page.context.cookies()
        ended = [{**one, "value": re.sub(r"until=\d+", "until=1", one["value"])} for one in cookies]
        page.context.add_cookies(ended)
        page.get_by_text("This act can no longer be undone.").wait_for()
        assert page.locator("[data-undo]").count() == 0
        number = len(polls)
        page.clock.install()
        page.clock.run_for(5_000)
        assert len(polls) == number


def delete_first(page: Any, console: Service) -> None:
    """Deletes the first message by keys, and confirms the deletion."""
    page.goto(f"{console.url}/console/queues/hostile/messages")
    press(page, "j", "d")
    page.get_by_role("button", name="Delete 1 message").click()
    page.locator("[data-undo]").wait_for()


def test_the_undo_works_without_a_script(browser: Any, console: Service) -> None:
    with opened(browser, java_script_enabled=False) as page:
        page.goto(f"{console.url}/console/queues/hostile/messages")
        page.locator("input[name=id]").first.check()
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Delete 1 message").click()
        page.get_by_role("link", name="Overview").click()
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Brought back: 1 message.").wait_for()
        assert page.locator("[data-undo]").count() == 0


def test_enter_opens_an_event_of_a_bus(browser: Any, console: Service) -> None:
    with opened(browser) as page:
        page.goto(f"{console.url}/console/buses/shop/events")
        press(page, "j", "j", "Enter")
        event = page.locator("[data-row] details").nth(1)
        assert event.evaluate("details => details.open")
        expect(event.locator("pre")).to_be_visible()
        assert page.url.endswith("/events")
        press(page, "[")
        page.wait_for_url("**/console/buses/shop")
        # Subscribers with trouble come first, so the first row depends on how late the deliveries are.
        first = page.locator("[data-row] a").first.get_attribute("href")
        press(page, "j", "Enter")
        page.wait_for_url(f"**{first}")
