"""Tests the console in Debian's Chromium: display, keyboard, polling, and script injection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.programs.penstock_service import Service
from tests.support.web.console import list_page_paths

from .conftest import HOSTILE
from .conftest import MAPPING as ID

pytestmark = pytest.mark.browser

PAGES = list_page_paths(
    name="hostile",
    topic="news",
    subscription=ID,
    schedule="daily",
    mapping=ID,
    user="none",
    key="none",
    rest="none",
    bus="shop",
    subscriber="billing",
)
# Other views of these pages, and pages of queues in other states.
VIEWS = (
    "/console/queues?sort=visible&q=queue",
    "/console/queues/orders",
    "/console/queues/orders?span=30d",
    "/console/queues/empty/messages?state=delayed",
    "/console/queues/hostile/messages?text=script&min_receives=0",
    "/console/queues/orders-dead/failures",
    "/console/queues/orders-dead/redrive",
    "/console/queues/orders-dead/replace?all=yes",
    "/console/topics/news?body=x&attribute=a&type=String&value=b",
    "/console/schedules?view=calendar",
    "/console/schedules?view=groups",
    "/console/buses/shop/events?group=a",
    "/console/buses/shop/events?pattern=%5B",
    "/console/buses/shop/subscribe?like=billing",
)
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", event =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
HIDE = """value => {
  Object.defineProperty(document, "hidden", {value, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def expect(locator: Any) -> Any:
    """Returns Playwright's assertions, which wait. Only the tests in a browser need Playwright."""
    from playwright.sync_api import expect as assertions

    return assertions(locator)


@contextmanager
def opened(browser: Any, **options: Any) -> Iterator[Any]:
    """Yields a page in a new context. Fails at the end if the page had a script error, a dialog or a CSP violation."""
    context = browser.new_context(**options)
    page = context.new_page()
    seen: list[str] = []

    def note(text: str) -> None:
        seen.append(text)

    def refuse(dialog: Any) -> None:
        note(dialog.message)
        dialog.dismiss()

    page.on("pageerror", lambda error: note(str(error)))
    page.on("dialog", refuse)
    page.on("console", lambda message: note(message.text) if "Content Security" in message.text else None)
    page.on("request", lambda request: None if request.url.startswith("http://127.0.0.1") else note(request.url))
    page.add_init_script(WATCH)
    yield page
    if options.get("java_script_enabled", True):
        assert page.evaluate("window.violations") == []
        assert page.evaluate("window.pwned") is None
    context.close()
    assert seen == []


def list_paths(page: Any, console: Service) -> list[str]:
    """Returns the path of each page and view, including the pages of a message."""
    page.goto(f"{console.url}/console/queues/hostile/messages")
    shown = str(page.locator("a.preview").first.get_attribute("href"))
    message_id = shown.partition("?")[0].rpartition("/")[2]
    of_message = set(list_page_paths(name="hostile", message_id=message_id)) - set(PAGES)
    return [*PAGES, *VIEWS, shown, *sorted(of_message)]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280, 2560])
def test_axe_finds_nothing(browser: Any, console: Service, theme: str, width: int) -> None:
    """axe tests every page, with and without reduced motion, and with all details opened."""
    from axe_playwright_python.sync_playwright import Axe

    found = {}
    with opened(
        browser, color_scheme=theme, viewport={"width": width, "height": 900}, reduced_motion="reduce", bypass_csp=False
    ) as page:
        for path in list_paths(page, console):
            page.goto(f"{console.url}{path}")
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            violations = Axe().run(page).response["violations"]
            if violations:
                found[path] = [
                    (v["id"], v["nodes"][0]["html"][:160], v["nodes"][0]["failureSummary"][:300]) for v in violations
                ]
    assert found == {}


def test_no_page_is_wider_than_the_window(browser: Any, console: Service) -> None:
    wide = []
    with opened(browser) as page:
        for path in list_paths(page, console):
            page.goto(f"{console.url}{path}")
            for width in (320, 480, 768, 1280, 2560):
                page.set_viewport_size({"width": width, "height": 900})
                size = page.evaluate("document.documentElement.scrollWidth")
                if size > width:
                    wide.append((path, width, size))
    assert wide == []


def test_every_page_can_be_read_and_used_without_scripts(browser: Any, console: Service) -> None:
    with opened(browser, java_script_enabled=False) as page:
        for path in (*PAGES, *VIEWS):
            page.goto(f"{console.url}{path}")
            assert page.locator("main").inner_text().strip(), path
            assert page.locator("[data-copy]:visible, [data-help]:visible").count() == 0, path
        page.goto(f"{console.url}/console/queues/empty/send")
        page.get_by_label("Body").fill("by hand")
        page.get_by_role("button", name="Send").click()
        page.get_by_role("link", name="Messages").click()
        page.get_by_role("checkbox").check()
        page.get_by_role("button", name="Delete…").click()
        assert "Delete 1 message of empty?" in page.locator("h1").inner_text()
        page.get_by_role("button", name="Delete 1 message").click()
        assert "1 message of empty deleted" in page.locator("main").inner_text()
        page.get_by_role("button", name="Undo").click()
        assert "Brought back: 1 message." in page.locator("main").inner_text()


def test_no_text_of_a_message_runs(browser: Any, console: Service) -> None:
    """The test shows 1,000 bodies and attributes in lists. The test also shows every twentieth text on a separate page
    and in the copy form, and every tenth text in the URL.
    """
    shown = 0
    with opened(browser) as page:
        page.goto(f"{console.url}/console/queues/hostile/messages")
        while True:
            links = page.locator("a.preview").evaluate_all("all => all.map(one => one.href)")
            shown += len(links)
            for link in links[::20]:
                page.goto(link)
                assert page.evaluate("window.violations") == []
                page.goto(f"{console.url}/console/queues/hostile/send?copy={link.rpartition('/')[2]}")
                page.go_back()
                page.goto(f"{link.partition('?')[0]}/edit")
                page.go_back()
                page.go_back()
            following = page.get_by_role("button", name="Next")
            if not following.count():
                break
            following.click()
        assert shown == len(HOSTILE)
        for text in HOSTILE[:1000:10]:
            page.goto(
                f"{console.url}/console/queues?"
                + page.evaluate("text => new URLSearchParams({q: text}).toString()", text)
            )
            assert page.evaluate("window.violations") == []


def test_keys_select_and_open_rows(browser: Any, console: Service) -> None:
    with opened(browser) as page:
        page.goto(f"{console.url}/console/queues?q=queue-")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        page.keyboard.press("j")
        assert page.locator("[data-row].current a").first.inner_text() == "queue-01"
        page.keyboard.press("Enter")
        page.wait_for_url("**/console/queues/queue-01")
        page.go_back()
        page.keyboard.press("/")
        page.keyboard.type("hostile")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=hostile")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_be_hidden()
        page.goto(f"{console.url}/console/queues/hostile/messages")
        page.keyboard.press("j")
        page.keyboard.press("x")
        assert page.locator("[data-row].current input[type=checkbox]").is_checked()
        page.goto(f"{console.url}/console/queues")
        with page.expect_request(lambda request: request.headers.get("hx-request") == "true"):
            page.keyboard.press("r")


def test_keys_lead_to_pages(browser: Any, console: Service) -> None:
    """`/` leads from a page without a search to the search of the queues. A field takes the keys as text."""
    with opened(browser) as page:
        page.goto(f"{console.url}/console/system")
        pages = {"q": "/queues", "t": "/topics", "b": "/buses", "d": "/deliveries", "s": "/schedules", "o": ""}
        for key, path in pages.items():
            page.keyboard.press("g")
            page.keyboard.press(key)
            page.wait_for_url(f"{console.url}/console{path}")
        page.keyboard.press("/")
        page.wait_for_url("**/console/queues#search")
        page.keyboard.type("gt")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=gt")
        page.keyboard.press("?")
        shown = page.get_by_role("dialog").inner_text()
        assert all(f"go to the {name}" in shown for name in ("overview", "queues", "topics", "deliveries", "schedules"))


def test_the_overview_shows_values_below_the_pointer(browser: Any, console: Service) -> None:
    with opened(browser) as page:
        page.goto(f"{console.url}/console")
        page.locator(".traffic .hit title").first.wait_for(state="attached")
        titles = page.locator(".traffic .hit title").all_text_contents()
        blank = [title for title in titles if title.endswith("\nno data")]
        assert len(blank) <= 1  # the time before the first queue
        minutes = [title for title in titles if re.search(r"\d\d:\d\d UTC\nin [\d,]+, out [\d,]+$", title)]
        assert len(minutes) == len(titles) - len(blank) > 10
        page.locator("#live .items a", has_text="orders-dead").first.click()
        page.wait_for_url("**/console/queues/orders-dead/failures")


def test_a_page_polls_only_while_it_is_seen(browser: Any, console: Service) -> None:
    """The page polls every three seconds while it is visible, and immediately when it becomes visible. A hidden page
    does not poll.
    """
    with opened(browser) as page:
        page.clock.install()
        polls: list[str] = []
        page.on("request", lambda request: polls.append(request.url) if request.headers.get("hx-request") else None)
        page.goto(f"{console.url}/console/queues?q=queue-1")
        with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true"):
            page.clock.run_for(3_100)
        number = len(polls)
        assert number == 1
        page.evaluate(HIDE, True)
        page.clock.run_for(30_000)
        assert len(polls) == number
        with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true"):
            page.evaluate(HIDE, False)
        assert len(polls) == number + 1


def test_live_figures_change_and_the_focus_stays(browser: Any, console: Service) -> None:
    sqs = console.sqs()
    url = sqs.create_queue(QueueName="counted")["QueueUrl"]
    with opened(browser) as page:
        page.goto(f"{console.url}/console/queues?q=counted")
        page.keyboard.press("j")
        sqs.send_message(QueueUrl=url, MessageBody="x")
        page.locator("td[data-label=Visible]", has_text="1").wait_for()
        assert page.evaluate("document.activeElement.textContent") == "counted"
        assert page.locator("[data-row].current").count() == 1
    sqs.close()


def test_the_filter_of_messages_is_folded_in_a_narrow_window_only(browser: Any, console: Service) -> None:
    """On a telephone, the first message is on the first screen. A filter that is set stays visible."""
    path = f"{console.url}/console/queues/orders/messages"
    with opened(browser, viewport={"width": 400, "height": 800}, java_script_enabled=False) as page:
        page.goto(path)
        assert page.locator("a.preview").first.bounding_box()["y"] < 600
        expect(page.get_by_role("textbox", name="Text")).to_be_hidden()
        page.get_by_text("Filter", exact=True).first.click()
        expect(page.get_by_role("textbox", name="Text")).to_be_visible()
        page.goto(f"{path}?text=order")
        expect(page.get_by_role("textbox", name="Text")).to_be_visible()
    with opened(browser, viewport={"width": 1280, "height": 800}) as page:
        page.goto(path)
        expect(page.get_by_role("textbox", name="Text")).to_be_visible()
        expect(page.locator(".fold > summary")).to_be_hidden()


def test_a_narrow_window_has_a_low_head_and_hides_zeros(browser: Any, console: Service) -> None:
    with opened(browser, viewport={"width": 400, "height": 800}) as page:
        page.goto(f"{console.url}/console/queues?sort=name")
        expect(page.locator(".banner")).to_be_visible()
        assert page.locator("main").bounding_box()["y"] <= 105
        here = page.locator(".bar nav [aria-current]").bounding_box()
        assert (here["x"] >= 0, here["x"] + here["width"] <= 400) == (True, True)
        shown = page.locator("td[data-label=Visible]:visible, td[data-label=Delayed]:visible").all_inner_texts()
        assert shown
        assert "0" not in shown
        hidden = page.locator("td.na[data-label=Delayed]")
        assert hidden.count()
        page.set_viewport_size({"width": 1280, "height": 800})
        expect(hidden.first).to_be_visible()
        assert hidden.first.inner_text() == "0"


def test_the_values_of_a_chart_need_no_pointer_and_stay_open(browser: Any, console: Service) -> None:
    with opened(browser) as page:
        page.goto(f"{console.url}/console/queues/empty")
        summary = page.locator(".values > summary").first
        summary.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".values tbody td").first).to_be_visible()
        page.evaluate("new Promise(done => addEventListener('htmx:after:swap', () => done(), {once: true}))")
        expect(page.locator(".values tbody td").first).to_be_visible()


def test_a_list_uses_a_wide_window(browser: Any, console: Service) -> None:
    with opened(browser, viewport={"width": 2560, "height": 900}) as page:
        page.goto(f"{console.url}/console/queues")
        assert page.locator(".table").first.bounding_box()["width"] >= 2_150


def test_controls_above_a_list_do_not_touch_it(browser: Any, console: Service) -> None:
    with opened(browser, viewport={"width": 1280, "height": 800}) as page:
        page.goto(f"{console.url}/console/queues/orders-dead/failures")
        controls, card = page.locator("main > .line").bounding_box(), page.locator(".failure").first.bounding_box()
        assert card["y"] - controls["y"] - controls["height"] >= 10


def test_a_small_chart_shows_the_values_of_a_time_as_a_chart_does(browser: Any, console: Service) -> None:
    with opened(browser, viewport={"width": 1280, "height": 900}) as page:
        page.goto(f"{console.url}/console/queues?q=empty")
        plot = page.locator("td .plot")
        label = plot.locator("output")
        expect(label).to_be_hidden()
        plot.hover(position={"x": 95, "y": 10})
        assert re.fullmatch(r"\d\d:\d\d UTC  \d+ visible", label.inner_text())
        plot.hover(position={"x": 1, "y": 10})
        assert label.inner_text().endswith("UTC  no data"), "an hour ago, the queue did not exist"
        assert plot.locator("title").count() == 0
        page.mouse.move(0, 0)
        expect(label).to_be_hidden()


def test_a_chart_shows_the_values_of_a_time(browser: Any, console: Service) -> None:
    """The pointer and the arrow keys choose the time. A poll keeps the label."""
    with opened(browser, viewport={"width": 1280, "height": 900}) as page:
        page.goto(f"{console.url}/console/queues/empty")
        plot = page.locator("[data-plot='Messages a minute']")
        label = plot.locator("output")
        expect(label).to_be_hidden()
        plot.locator(".hit").nth(3).hover()
        pointed = label.inner_text()
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC\nin \d+, out \d+", pointed)
        page.mouse.move(0, 0)
        expect(label).to_be_hidden()
        plot.locator("svg").focus()
        newest = label.inner_text()
        page.keyboard.press("ArrowLeft")
        earlier = label.inner_text()
        page.keyboard.press("Home")
        assert len({newest, earlier, label.inner_text()}) == 3
        with page.expect_response(lambda response: "/console/queues/empty" in response.url):
            page.evaluate("document.body.dispatchEvent(new Event('again'))")
        expect(label).to_be_visible()
        page.keyboard.press("End")
        box, around = label.bounding_box(), plot.bounding_box()
        assert box["x"] + box["width"] <= around["x"] + around["width"] + 1
        page.keyboard.press("Tab")
        expect(label).to_be_hidden()
