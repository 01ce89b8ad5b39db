"""Tests the conversion of documents by `make site`. `make check` builds the site and checks its links."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from infra.site.archive import find_style, render_policy
from infra.site.build import (
    SiteError,
    add_words,
    find_missing_addresses,
    list_pages,
    mark_outputs,
    prefix_links,
    render_examples,
    render_indexes,
    render_llms,
    rewrite_links,
    show_audience,
)
from infra.site.names import link_names, read_names
from infra.site.recording import LARGEST_BYTES, PICTURE, draw
from infra.site.screen import COLUMNS, ROWS, Film, Screen, Shown

ROOT = Path(__file__).parents[3]
_SETTINGS = tomllib.loads((ROOT / "zensical.toml").read_text())
MENU = [*_SETTINGS["project"]["nav"], *_SETTINGS["developers"]["nav"]]
NAVIGATION = [{"Start": [{"Home": "index.md"}, {"Install": "start/install.md"}]}, {"Changes": "project/changelog.md"}]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[Access](../operate/access.md#keys)", "[Access](../operate/access.md#keys)"),
        ("[`a`](https://example.com/x)", "[`a`](https://example.com/x)"),
        ("[below](#below)", "[below](#below)"),
        ("[what changed](../../CHANGELOG.md)", "[what changed](../project/changelog.md)"),
        ("![chart](../performance/chart.svg)", "![chart](../performance/chart.svg)"),
        ("[`code.py`](../../layers/code.py)", "`code.py`"),
        ("[the code](../../layers/code.py)", "`the code`"),
        ("[a worker](../../examples/go/worker.go)", "[a worker](../start/examples/go.md#go)"),
        ("[orders](../../examples/fifo.py)", "[orders](../start/examples/python.md#fifo)"),
    ],
)
def test_links_lead_to_the_place_in_the_site(link: str, expected: str) -> None:
    assert rewrite_links(link, "guides/page.md", "docs/guides/page.md") == expected


def test_a_page_from_another_folder_keeps_its_links() -> None:
    text = rewrite_links("[Topics](docs/reference/topics.md)", "project/changelog.md", "CHANGELOG.md")
    assert text == "[Topics](../reference/topics.md)"


def test_the_site_has_every_example_whole(tmp_path: Path) -> None:
    files = {"fifo.py": "print(1)\n", "go/worker.go": "package main\n", "go/go.mod": "go 1.24\n", "a.yaml": "a: 1\n"}
    for name, text in files.items():
        (tmp_path / "examples" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "examples" / name).write_text(text)
    examples = tmp_path / "examples"
    assert "".join(render_examples(examples, "Python")) == (
        "\n## fifo.py { #fifo }\n\n`examples/fifo.py`:\n\n````py\nprint(1)\n````\n"
    )
    assert "".join(render_examples(examples)) == "\n## a.yaml { #a }\n\n`examples/a.yaml`:\n\n````yaml\na: 1\n````\n"
    assert (
        "".join(render_examples(examples, "Go"))
        == """
## go { #go }

`examples/go/go.mod`:

````mod
go 1.24
````

`examples/go/worker.go`:

````go
package main
````
"""
    )


def test_each_page_has_a_line_in_llms_txt(tmp_path: Path) -> None:
    for place, _ in list_pages(NAVIGATION):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(f"# Title\n\nFor developers:\nread {place}.\n\nMore.\n")
    assert render_llms(tmp_path, NAVIGATION).splitlines()[-3:] == [
        "- [Start / Home](/docs/): For developers: read index.md.",
        "- [Start / Install](/docs/start/install): For developers: read start/install.md.",
        "- [Changes](/docs/project/changelog): For developers: read project/changelog.md.",
    ]
    (tmp_path / "start/forgotten.md").write_text("# Title\n")
    with pytest.raises(SiteError, match=r"start/forgotten\.md"):
        render_llms(tmp_path, NAVIGATION)


def test_a_section_has_an_index_of_its_pages_in_groups(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / f"run/{name}.md").write_text(f"# Title\n\nFor operators:\nread {name}.\n")
    pages = ["run/index.md", {"A": "run/a.md"}, {"Mend": [{"B": "run/b.md"}, {"C": "run/c.md"}]}]
    [(place, text)] = render_indexes(tmp_path, [{"Run": pages}, {"Other": [{"A": "run/a.md"}]}])
    assert place == "run/index.md"
    assert [line for line in text.splitlines() if line.startswith(("#", "| ["))] == [
        "# Run", "| [A](a.md) | Read a. |", "## Mend", "| [B](b.md) | Read b. |", "| [C](c.md) | Read c. |",
    ]  # fmt: skip


def test_every_section_of_the_site_has_an_index() -> None:
    start, *others = MENU
    assert start["Start"][0] == "index.md"
    for section, content in ((title, content) for entry in others for title, content in entry.items()):
        assert f"{section.lower()}/index.md" in dict(list_pages(content)), section


@pytest.mark.parametrize("page", [page for page, _ in list_pages(MENU) if (ROOT / "docs" / page).exists()])
def test_the_menu_and_the_page_have_the_same_title(page: str) -> None:
    title = dict(list_pages(MENU))[page].rpartition(" / ")[2]
    if not page.endswith("index.md"):
        assert (ROOT / "docs" / page).read_text().startswith(f"# {title}\n")


@pytest.mark.parametrize("front", ["", "---\nsearch:\n  exclude: true\n---\n"])
def test_a_page_begins_with_its_task_and_a_label_for_its_audience(front: str) -> None:
    page = f"{front}# Title\n\nFor developers and operators: read\nthis.\n\nMore.\n"
    label = '{ .task data-audience="For developers and operators" }'
    assert show_audience(page) == f"{front}# Title\n\nRead\nthis.\n{label}\n\nMore.\n"
    assert show_audience(f"{front}# Title\n\nFor everybody: read.\n\nFor developers: no\n\n") == (
        f"{front}# Title\n\nRead.\n\nFor developers: no\n\n"
    )


def test_a_block_of_output_has_its_class() -> None:
    text = "<!-- output -->\n```text\na\n```\n```text\nb\n```\n"
    assert mark_outputs(text) == "``` { .text .output }\na\n```\n```text\nb\n```\n"


def test_an_address_that_the_program_shows_has_its_page_and_section(tmp_path: Path) -> None:
    (tmp_path / "layers").mkdir()
    (tmp_path / "layers/advice.py").write_text('A = "/docs/a/#there"; B = "/docs/a/#gone"; C = "/docs/b/"\n')
    (tmp_path / "site/a").mkdir(parents=True)
    (tmp_path / "site/a/index.html").write_text('<h2 id="there">There</h2>')
    assert list(find_missing_addresses(tmp_path, tmp_path / "site")) == ["/docs/a/#gone", "/docs/b/"]


def test_the_search_finds_other_words_for_a_page(tmp_path: Path) -> None:
    (index := tmp_path / "search.json").write_text(
        '{"items": [{"location": "a/", "title": "A"}, {"location": "a/#b"}]}'
    )
    add_words(index, {"a": "one, two"})
    assert json.loads(index.read_text())["items"] == [
        {"location": "a/", "title": "A", "words": "one, two"},
        {"location": "a/#b"},
    ]
    with pytest.raises(SiteError, match="no page gone"):
        add_words(index, {"gone": "three"})


GENERATED = {
    "reference/commands.md": "# Commands\n\n### penstock keys\n\n### penstock keys create\n",
    "reference/sql_functions.md": "# Functions\n\n## queue.send_batch\n",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "`penstock keys` `penstock keys`",
            "[`penstock keys`](../reference/commands.md#penstock-keys) `penstock keys`",
        ),
        (
            "`penstock keys create NAME --bearer`",
            "[`penstock keys create NAME --bearer`](../reference/commands.md#penstock-keys-create)",
        ),
        ("`queue.send_batch(…)`", "[`queue.send_batch(…)`](../reference/sql_functions.md#queuesend_batch)"),
        ("`queue.secret` `penstock` `penstock nothing`", "`queue.secret` `penstock` `penstock nothing`"),
        ("# `penstock keys`\n[see `penstock keys`](x.md)", "# `penstock keys`\n[see `penstock keys`](x.md)"),
        ("```sh\n`penstock keys`\n```", "```sh\n`penstock keys`\n```"),
    ],
)
def test_the_first_mention_of_a_name_is_a_link(text: str, expected: str) -> None:
    assert link_names(text, "guides/page.md", read_names(GENERATED)) == expected


def test_the_policy_has_the_hash_of_each_inline_script() -> None:
    """The digest of `alert(1)` comes from `openssl dgst -sha256 -binary | base64`."""
    policy = render_policy({"alert(1)"}, set())
    assert "script-src 'self' 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='" in policy
    assert "unsafe-inline" not in policy


def test_the_style_of_the_search_is_found() -> None:
    assert find_style("""x;var Tc='.a{color:red}';n.appendChild(C("style",{},Tc.toString()))""") == ".a{color:red}"
    with pytest.raises(ValueError, match="another way"):
        find_style("var other='.a{}'")


# --- recording -------------------------------------------------------------------------------------------------------
# Tests the terminal screen and the picture of `make recording`.


@pytest.mark.parametrize(
    ("written", "rows"),
    [
        ("a\r\nb\r\n", ["a", "b", ""]),
        ("abc\rx", ["xbc"]),
        ("ab\bc", ["ac"]),
        ("\x1b[1;32mgreen\x1b[0m\x1b[K", ["green"]),
        ("x" * (COLUMNS + 2), ["x" * COLUMNS, "xx"]),
        ("x" * COLUMNS, ["x" * COLUMNS]),
    ],
)
def test_a_screen_shows_what_a_terminal_shows(written: str, rows: list[str]) -> None:
    screen = Screen()
    screen.write(written)
    assert screen.visible() == rows


def test_a_screen_scrolls() -> None:
    screen = Screen()
    screen.write("\r\n".join(map(str, range(ROWS + 5))))
    assert screen.visible() == [str(number) for number in range(5, ROWS + 5)]


def test_a_film_says_how_long_each_row_shows_a_text() -> None:
    film = Film()
    film.show(["a", "b"])
    film.wait(1)
    film.show(["a", "c"])
    film.wait(2)
    assert film.end() == [Shown(0, "a", 0, 3), Shown(1, "b", 0, 1), Shown(1, "c", 1, 3)]


def test_a_picture_has_times_and_no_program() -> None:
    picture = draw([Shown(0, "$ send '<1>'", 0, 1), Shown(0, "sent  1", 1, 4)], 4)
    first, second = ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}animate")
    assert (first.get("keyTimes"), first.get("values")) == ("0;0.2500", "visible;hidden")
    assert (second.get("keyTimes"), second.get("values")) == ("0;0.2500", "hidden;visible")


def test_the_picture_of_the_documents_is_small_and_needs_no_scripts_and_styles() -> None:
    text = PICTURE.read_text()
    assert len(text.encode()) <= LARGEST_BYTES
    names = {element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()}
    assert names == {"svg", "title", "rect", "circle", "g", "text", "tspan", "animate"}


def test_the_page_for_404_finds_its_files_at_every_depth(tmp_path: Path) -> None:
    page = tmp_path / "404.html"
    page.write_text('<a href="/">a</a><img src="/a.png"><a href="/docs/b/">b</a><a href="#c">c</a>{"base":"/"}')
    prefix_links(page)
    assert page.read_text() == (
        '<a href="/docs/">a</a><img src="/docs/a.png"><a href="/docs/b/">b</a><a href="#c">c</a>{"base":"/docs/"}'
    )
