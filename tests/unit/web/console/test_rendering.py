"""Tests the pages and files of the console: escapes, unknown values, navigation, lines of templates, sizes and
versions.

The page shows an unknown value as a dash that screen readers read as words, and never as 0.
"""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from zipfile import ZipFile

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Response

import penstock_web.console
from penstock.documents.console_pages import ConsolePage
from penstock.errors import AccessDenied, AwsError, InvalidParameterValue
from penstock.management.attention.reading import find_concerns
from penstock.management.rights import PUBLIC, SIGNED_IN, require
from penstock.sns.filter_policy.compile import compile_policy
from penstock.verdicts import Cause, Kind, Minute, Verdict
from penstock_web.console import readings
from penstock_web.console.charts import depths
from penstock_web.console.console import list_screens
from penstock_web.console.console_route import ConsoleRoute
from penstock_web.console.documentation import ABSENT, POLICY_NAME, add_documentation
from penstock_web.console.forms import FieldProblem, Form, find_json_fault, find_problems, locate_problem
from penstock_web.console.messages import mark_lines
from penstock_web.console.readings import Refresher
from penstock_web.console.rendering import (
    NOT_KNOWN,
    TYPES,
    age,
    ago,
    asset_path,
    count,
    moment,
    query,
    rate,
    read_asset,
    seconds,
    segment,
    templates,
)
from penstock_web.console.screen import list_navigation, screen

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)


def test_an_unknown_value_is_no_zero() -> None:
    assert {count(None), rate(None), seconds(None), age(None, NOW), ago(None, NOW), moment(None)} == {NOT_KNOWN}
    assert "not known" in NOT_KNOWN
    assert (count(0), rate(0.0), seconds(0.0), age(NOW, NOW)) == ("0", "0", "0 s", "0 s")


@pytest.mark.parametrize(
    ("value", "text"), [(12.4, "12/s"), (1.04, "1.0/s"), (0.5, "30/min"), (0.1, "6.0/min"), (0.0001, "0")]
)
def test_a_rate_is_shown_as_a_text(value: float, text: str) -> None:
    assert rate(value) == text


def test_the_rates_of_a_column_have_the_unit_of_the_largest() -> None:
    column = (0.0, 0.01, 0.5, 1.2, 40.0)
    assert [rate(value, max(column)) for value in column] == ["0", "<0.1/s", "0.5/s", "1.2/s", "40/s"]
    assert [rate(value, 0.5) for value in column[:3]] == ["0", "0.6/min", "30/min"]


def test_ago_has_the_moment_for_programs() -> None:
    assert ago(NOW - timedelta(minutes=12), NOW) == (
        '<time datetime="2030-01-31T11:48:00.000+00:00" title="2030-01-31 11:48:00 UTC">12 min ago</time>'
    )


def test_parts_of_addresses_are_escaped() -> None:
    assert query({"q": "a b", "sort": "", "page": None}, page=2) == "?q=a+b&page=2"
    assert query({}) == ""
    assert segment("a/b?c") == "a%2Fb%3Fc"


def test_values_are_escaped() -> None:
    text = templates().from_string('{{ value }} <a title="{{ value }}">').render(value="<b>\"'&")
    assert text == '&lt;b&gt;&#34;&#39;&amp; <a title="&lt;b&gt;&#34;&#39;&amp;">'


def test_depths_keep_what_was_measured_and_know_nothing_before() -> None:
    minutes = [Minute(NOW - timedelta(minutes=3), visible=5), Minute(NOW - timedelta(minutes=1), sent=2)]
    assert depths(minutes, NOW, 5) == [None, None, 5, 5, 5]
    old = [Minute(NOW - timedelta(hours=1), visible=7)]
    assert depths(old, NOW, 2) == [7, 7]


def test_lines_that_differ() -> None:
    one, two, three = '{\n  "a": 1,\n  "b": 2\n}', '{\n  "a": 1,\n  "b": 3\n}', '{\n  "a": 1\n}'
    assert [[line.differs for line in lines] for lines in mark_lines([one, two, three])] == [
        [False, False, True, False],
        [False, False, True, False],
        [False, False, False],
    ]
    assert not any(line.differs for lines in mark_lines([one]) for line in lines)


@pytest.mark.parametrize(
    ("text", "value", "problem"),
    [("wrong\n at line: 2, column: 3]", "a\nbcd", ("Line 2, column 3: wrong", "bc", "d")),
     ("line: 1, column: 1 is quoted\n line: 1, column: 99", "abc",
      ("Line 1, column 99: line: 1, column: 1 is quoted", "abc", "")),
     ("\n line: 3, column: 1", "a\nb", ("\n line: 3, column: 1", "", "")),
     ("line: 0, column: 0", "a", ("line: 0, column: 0", "", "")),
     ("line: 1, column: 101", "x" * 200, ("Line 1, column 101: line: 1, column: 101", "x" * 60, "x" * 60))],
)  # fmt: skip
def test_a_problem_shows_its_place_in_the_text(text: str, value: str, problem: tuple[str, str, str]) -> None:
    assert locate_problem(text, value) == FieldProblem(*problem)


def test_a_problem_belongs_to_the_field_of_its_member() -> None:
    form = Form.filled({"filter": "{"})
    fields = {"Endpoint": "endpoint", "FilterPolicy": "filter"}
    text = 'FilterPolicy: "Endpoint"\n line: 1, column: 2'
    found = find_problems(InvalidParameterValue(text, member="Endpoint.FilterPolicy.0"), form, fields)
    assert found == {"filter": FieldProblem('Line 1, column 2: FilterPolicy: "Endpoint"', "{")}
    assert find_problems(InvalidParameterValue("Endpoint", member="X"), form, fields) == {"": FieldProblem("Endpoint")}
    denied = "User: u is not authorized to perform: sns:Subscribe on resource: Endpoint because no policy allows it"
    assert find_problems(AccessDenied(denied), form, fields) == {"": FieldProblem(denied)}


@pytest.mark.parametrize(
    ("text", "place", "sentence"),
    [('{"a": ["b"}', (1, 11), "A comma or a closing bracket is expected."),
     ('{"a": ["b"]', (1, 12), "The JSON ends too early. A comma or a closing bracket is expected."),
     ("order", (1, 1), "A value is expected: "), ('{"a" 1}', (1, 6), "A colon is expected."),
     ('{\n a: 1}', (2, 2), "A name in double quotes is expected."), ('["a]', (1, 2), "no closing quote."),
     ("", (1, 1), "The JSON ends too early."), ("{} {}", (1, 4), "The JSON ends before this place"),
     ("[" * 100_000, (1, 1), "nested too deeply")],
)  # fmt: skip
def test_a_fault_of_json_says_what_the_grammar_expects(text: str, place: tuple[int, int], sentence: str) -> None:
    """The grammar of RFC 8259, sections 2 to 7."""
    fault = find_json_fault(text)
    assert fault is not None
    assert (fault.line, fault.column) == place
    assert sentence in fault.text
    assert find_json_fault('{"a": [1, "b", null]}') is None


def test_a_filter_that_is_not_json_shows_no_words_of_a_parser() -> None:
    with pytest.raises(AwsError) as caught:
        compile_policy('{"a": ["b"]', "MessageAttributes")
    problem = locate_problem(caught.value.message, '{"a": ["b"]')
    assert problem.text == (
        "Line 1, column 12: This is not JSON. The JSON ends too early. A comma or a closing bracket is expected."
    )


TEMPLATES = Path(__file__).parents[4] / "layers/web/penstock_web/console/templates"
LONGEST_LINE = 145


def test_lines_are_short() -> None:
    files = list(TEMPLATES.glob("*.html"))
    assert files
    long = {
        f"{file.name}:{number}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE
    }
    assert long == set()


STATIC = Path(penstock_web.console.__file__).parent / "static"
ASSETS = [path for path in STATIC.iterdir() if path.suffix in TYPES]
README = (STATIC / "README.md").read_text()


def test_all_together_are_light() -> None:
    assert len(ASSETS) == 4
    assert sum(path.stat().st_size for path in ASSETS) <= 120_000


def test_files_of_other_projects_are_unchanged() -> None:
    rows = re.findall(r"^\| (\S+) \|.*npm: `htmx.org@([0-9.]+)`.*`([0-9a-f]{64})` \|$", README, re.MULTILINE)
    ((name, version, digest),) = rows
    content = (STATIC / name).read_bytes()
    assert sha256(content).hexdigest() == digest
    assert f'this.version="{version}"'.encode() in content
    assert "Zero-Clause BSD" in README


def test_every_file_is_named() -> None:
    assert {path.name for path in ASSETS} == set(re.findall(r"[a-z.]+\.(?:js|css|svg)(?= \||, )", README))


def test_addresses_change_with_the_content() -> None:
    for path in ASSETS:
        assert sha256(path.read_bytes()).hexdigest()[:12] in asset_path(path.name)
    assert read_asset("README.md") is None
    assert read_asset("../console.py") is None


FOREVER = 1e9
AT_ONCE = 0.0


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Makes a page wait without a time limit. A test then hangs if its page never changes."""
    monkeypatch.setattr(readings, "REFRESH_SECONDS", FOREVER)
    return monkeypatch


@pytest.mark.usefixtures("patient")
async def test_a_page_waits_for_the_measurements() -> None:
    measured: list[int] = []

    async def refresh() -> None:
        await asyncio.sleep(0)
        measured.append(1)

    refresher = Refresher(refresh)
    await refresher.wait()
    await refresher.wait()
    assert measured == [1, 1]


async def test_after_one_that_waited_in_vain_no_page_waits(patient: pytest.MonkeyPatch) -> None:
    """The running read continues, and no second read begins."""
    begun, end = 0, asyncio.Event()

    async def refresh() -> None:
        nonlocal begun
        begun += 1
        await end.wait()

    refresher = Refresher(refresh)
    patient.setattr(readings, "REFRESH_SECONDS", AT_ONCE)
    await refresher.wait()
    patient.setattr(readings, "REFRESH_SECONDS", FOREVER)
    await refresher.wait()
    end.set()
    assert begun == 1


async def test_pages_wait_again_after_a_while(patient: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    end = asyncio.Event()

    async def refresh() -> None:
        await end.wait()
        happened.append("measured")

    refresher = Refresher(refresh)
    patient.setattr(readings, "REFRESH_SECONDS", AT_ONCE)
    patient.setattr(readings, "SLOW_SECONDS", AT_ONCE)
    await refresher.wait()
    happened.append("page")
    patient.setattr(readings, "REFRESH_SECONDS", FOREVER)
    asyncio.get_running_loop().call_soon(end.set)
    await refresher.wait()
    assert happened == ["page", "measured"]


# --- rights ----------------------------------------------------------------------------------------------------------
# Checks that the rights of the screens equal the rights in docs/operate/policies.md, and that every screen has a right.


PAGE = Path(__file__).parents[4] / "docs" / "operate" / "policies.md"


def test_the_page_has_what_each_route_asks_for() -> None:
    rows = [
        f"| `{shown.method} {shown.path}` | {', '.join(f'`{action}`' for action in shown.right.actions)} |"
        for shown in list_screens()
        if shown.right not in (PUBLIC, SIGNED_IN)
    ]
    table = PAGE.read_text().partition("| route | required actions |\n| --- | --- |\n")[2].partition("\n\n")[0]
    assert table.splitlines() == sorted(rows, key=lambda row: row.split()[2])


def test_a_right_is_about_the_queue_or_topic_of_the_path() -> None:
    for shown in list_screens():
        assert (shown.right.scope == "queue") == ("/queues/{name}" in shown.path), shown
        assert (shown.right.scope in ("topic", "subscription")) == ("/topics/{topic}" in shown.path), shown


def test_concerns_and_alerts_link_to_screens() -> None:
    assert {page.screen_path for page in ConsolePage} <= {
        shown.path for shown in list_screens() if shown.method == "GET"
    }


def test_the_navigation_has_each_place_and_title_once() -> None:
    """`position` orders the titles. Two equal positions would leave the order to the imports."""
    list_screens()
    positions, titles = zip(*((shown.position, shown.title) for shown in list_navigation()), strict=True)
    assert list(positions) == sorted(set(positions))
    assert "" not in titles
    assert len(set(titles)) == len(titles) > 5


async def forgotten() -> Response:
    return Response()


def test_a_screen_without_a_right_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'right'"):
        screen("/console/things")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="forgotten requires no right: declare it with @screen or @act"):
        APIRouter(route_class=ConsoleRoute).add_api_route("/console/things", forgotten)
    with pytest.raises(ValueError, match="sqs:RecieveMessage"):
        require("sqs:RecieveMessage")


@pytest.mark.parametrize("file", ["deliveries_endpoints.html", "deliveries_waiting.html"])
def test_a_last_response_is_shown_once(file: str) -> None:
    """The `last_error` of a refusal contains the status. In an earlier commit, the page therefore showed "503 HTTP
    status 503"."""
    text = (TEMPLATES / file).read_text()
    assert "row.last_status or '' }} {{" not in text
    assert "tried again" not in text


@pytest.mark.parametrize(
    ("cause", "shown"),
    [("queue_paused", '<span class="badge warn">paused</span>'),
     ("in_flight_limit", '<span class="badge bad">throttled</span>')],
)  # fmt: skip
def test_a_paused_queue_has_one_state(cause: str, shown: str) -> None:
    """The verdict is `throttled`. The page names only the cause."""
    queue = SimpleNamespace(kind="throttled", verdict=Verdict(Kind.THROTTLED, cause=Cause(cause)))
    text = templates().get_template("macros.html").module.verdict(queue)  # type: ignore[attr-defined]
    assert shown in text
    assert ("throttled" in text) == (cause != "queue_paused")


def test_a_queue_whose_function_fails_names_the_mapping() -> None:
    """The overview shows the mapping's state on the same page, so the queue must not seem to have another problem."""
    queue = SimpleNamespace(kind="poisoned", verdict=Verdict(Kind.POISONED, cause=Cause.FUNCTION_FAILS))
    text = templates().get_template("macros.html").module.verdict(queue)  # type: ignore[attr-defined]
    assert '<span class="badge bad">mapping fails</span>' in text


@pytest.mark.parametrize("verdict", [*map(Verdict, Kind), Verdict(Kind.DEAD_LETTERS, arrival_rate=0.1),
                                      Verdict(Kind.THROTTLED, cause=Cause.QUEUE_PAUSED),
                                      Verdict(Kind.POISONED, cause=Cause.FUNCTION_FAILS)])  # fmt: skip
def test_a_queue_has_one_colour_on_all_pages(verdict: Verdict) -> None:
    """The badge in lists and on the queue's page has the colour of "Needs attention"."""
    facts = SimpleNamespace(
        dead_letters=verdict.kind is Kind.DEAD_LETTERS, failing_since=None, oldest_at=None, expires_at=None
    )
    seen = SimpleNamespace(kind=verdict.kind.value, verdict=verdict, facts=facts, messages=1)
    queue: Any = SimpleNamespace(row=SimpleNamespace(name="q"), seen=seen, arrived=0)
    text = templates().get_template("macros.html").module.verdict(seen)  # type: ignore[attr-defined]
    levels = [concern.level for concern in find_concerns([queue])]
    assert [f'<span class="badge {level}">' in text for level in levels] == [True] * len(levels)
    assert bool(levels) == ("badge bad" in text or "badge warn" in text)


# --- documentation ---------------------------------------------------------------------------------------------------
# Tests the pages below /docs with a small archive. RFC 9110 defines the headers, and Penstock chose the paths.

CONSOLE_PAGE = "<p>" + "a message " * 300
FILES = {
    "index.html": "start",
    "guides/delay/index.html": CONSOLE_PAGE,
    "assets/site.css": "p {}",
    "404.html": "no page",
    POLICY_NAME: "default-src 'none'; script-src 'sha256-x'",
}


def client(archive: Path) -> httpx.AsyncClient:
    app = FastAPI(docs_url=None)
    add_documentation(app, cast("Any", SimpleNamespace(request_rate=None)), archive)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://penstock")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with ZipFile(tmp_path / "site.zip", "w") as packed:
        for name, text in FILES.items():
            packed.writestr(name, text)
    return tmp_path / "site.zip"


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/docs/", 200, "start"),
        ("/docs/guides/delay/", 200, CONSOLE_PAGE),
        ("/docs/assets/site.css", 200, "p {}"),
        ("/docs/nothing", 404, "no page"),
        ("/docs/guides/", 404, "no page"),
        ("/docs/../index.html", 404, ""),
        ("/docs/%2e%2e/etc/passwd", 404, "no page"),
    ],
)
async def test_a_path_has_its_page(archive: Path, path: str, status: int, text: str) -> None:
    async with client(archive) as http:
        response = await http.get(path)
        assert response.status_code == status
        assert text in response.text
        if text:
            assert response.headers["content-security-policy"] == FILES[POLICY_NAME]
            assert response.headers["x-content-type-options"] == "nosniff"


async def test_a_page_without_its_slash_redirects(archive: Path) -> None:
    async with client(archive) as http:
        for path, target in (("/docs", "/docs/"), ("/docs/guides/delay", "/docs/guides/delay/")):
            response = await http.get(path)
            assert (response.status_code, response.headers["location"]) == (307, target)


async def test_a_client_that_has_a_page_gets_no_body(archive: Path) -> None:
    async with client(archive) as http:
        page = await http.get("/docs/guides/delay/")
        assert page.headers["content-encoding"] == "gzip"
        again = await http.get("/docs/guides/delay/", headers={"if-none-match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        plain = await http.get("/docs/guides/delay/", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.text == CONSOLE_PAGE


async def test_an_installation_without_the_archive_says_so(tmp_path: Path) -> None:
    async with client(tmp_path / "site.zip") as http:
        response = await http.get("/docs/")
        assert (response.status_code, response.text) == (404, ABSENT)
