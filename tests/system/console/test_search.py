"""Sends the words of readers to the search of the site at /docs/, which runs in Debian's Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.pages.script import ROOT
from tests.support.programs.penstock_service import Service

from .test_console_in_a_browser import opened

pytestmark = pytest.mark.browser

# Maps the words of a reader to a page that must be among the first three results.
EXPECTED: dict[str, str] = json.loads((ROOT / "tests/support/pages/searches.json").read_text())
# Queries whose page is the first result: the other results are near, but do not answer.
FIRST = (
    "what happens when postgres restarts", "message lost", "delete a queue", "trace receives of one queue",
    "sqs to penstock",
)  # fmt: skip
# Pairs of queries that differ only in the forms of their words.
FORMS = (("redriving", "redrives"), ("partitioned tables", "partition table"), ("Webhooks!", "webhook"))
ASK = """
async (queries) => {
  const { search } = JSON.parse(document.querySelector("#__config").textContent);
  const worker = new Worker(search);
  const send = (type, data) => new Promise((resolve, reject) => {
    [worker.onmessage, worker.onerror] = [({ data }) => resolve(data.data), reject];
    worker.postMessage({ type, data });
  });
  const index = await (await fetch("search.json")).json();
  await send(0, index);
  const found = {};
  for (const query of queries) {
    const { items } = await send(2, { input: query });
    found[query] = items.map(({ id }) => index.items[id].location.split("#")[0]);
  }
  worker.terminate();
  return found;
}
"""


@pytest.fixture(scope="module")
def site(browser: Any, console: Service) -> Iterator[Any]:
    with opened(browser) as page:
        assert page.goto(f"{console.url}/docs/").ok, "`make site` builds the site"
        yield page


def ask(site: Any, queries: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = site.evaluate(ASK, queries)
    return found


def test_a_query_has_its_page_among_the_first_three_results(site: Any) -> None:
    assert len(EXPECTED) >= 50
    found = ask(site, [*EXPECTED])
    assert {query: found[query][:3] for query, page in EXPECTED.items() if page not in found[query][:3]} == {}
    assert {query: found[query][0] for query in FIRST if found[query][0] != EXPECTED[query]} == {}


def test_forms_of_a_word_find_the_same_first_page(site: Any) -> None:
    found = ask(site, [query for pair in FORMS for query in pair])
    assert [pair for pair in FORMS if found[pair[0]][:1] != found[pair[1]][:1]] == []


def test_unusual_queries_do_not_end_the_search(site: Any) -> None:
    """A word without results, a mistake, only small words, markup and a long text; then the search still answers."""
    found = ask(site, ["", "  ", "xyzzyq", "xyzzyq webhook", "how to", "<b>'\"&amp;", "pirces", "a " * 5_000, "backup"])
    assert (found[""], found["  "], found["xyzzyq"]) == ([], [], [])
    assert any(page.startswith("guides/webhook") or page == "reference/webhooks/" for page in found["xyzzyq webhook"])
    assert "operate/costs/" in found["pirces"]
    assert found["backup"][0] == "operate/backup/"


def test_a_reader_types_a_question_and_opens_the_first_result(site: Any) -> None:
    site.keyboard.press("/")
    site.get_by_role("combobox").fill("why did my message fail")
    first = site.get_by_role("option").first
    first.wait_for()
    assert first.locator("mark").count() > 0
    assert site.get_by_role("option").count() <= 20
    first.click()
    site.wait_for_url("**/docs/guides/why_failed/**")


def test_the_code_of_the_tutorial_fits_a_usual_window(browser: Any, console: Service) -> None:
    with opened(browser, viewport={"width": 1400, "height": 900}) as page:
        page.goto(f"{console.url}/docs/start/tutorial/")
        blocks = page.locator("pre > code")
        assert blocks.count() > 5
        assert blocks.evaluate_all("codes => codes.filter((code) => code.scrollWidth > code.clientWidth).length") == 0


def test_a_table_of_four_columns_fits_a_phone(browser: Any, console: Service) -> None:
    with opened(browser, viewport={"width": 400, "height": 800}) as page:
        page.goto(f"{console.url}/docs/operate/sizing/")
        tables = page.get_by_role("article").locator("table:visible")
        assert tables.count() > 3
        assert (
            tables.evaluate_all("tables => Math.max(...tables.map((table) => table.getBoundingClientRect().right))")
            <= 400
        )
        assert page.get_by_role("columnheader", name="medium").is_visible(), "each number has the head of its column"


def test_each_section_has_a_page(browser: Any, console: Service) -> None:
    with opened(browser) as page:
        for section in ("start/examples", "guides", "operate", "reference", "explain", "decisions", "project"):
            assert page.goto(f"{console.url}/docs/{section}/").ok, section
            assert page.get_by_role("article").get_by_role("link").count() > 2, section
