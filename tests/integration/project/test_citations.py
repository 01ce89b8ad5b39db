"""What files point at is in the repository: pages, links, and the paths that documents name."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).relative_to(ROOT).as_posix()
# A page of an earlier outline, which lay elsewhere; the brackets keep this line from naming them itself.
RETIRED = re.compile(r"aws[-]behaviour|native[-]api\b|platform[ ]facts|\.\./[s]hared\b")
PAGE = re.compile(r"[\w./-]+\.md\b")
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")
PATH = re.compile(r"`([\w.-]+/[\w.*/-]*)`")
# These tell what was, at a time when other folders were there.
HISTORY = ("CHANGELOG.md", "docs/decisions/", "docs/performance/log/")


@cache
def texts() -> dict[str, str]:
    """Every text file that git knows, or would know; no lock files and pictures, which cite nothing."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = {}
    for name in filter(None, listed.split("\0")):
        if not name.endswith((".lock", "package-lock.json", ".svg", ".webp")) and (ROOT / name).is_file():
            found[name] = (ROOT / name).read_text()
    return found


def pages() -> dict[str, str]:
    return {name: text for name, text in texts().items() if name.endswith(".md")}


def is_known(page: str, named_in: str) -> bool:
    """Whether a page is there: beside the file, from the root, in docs/, or by its name alone."""
    places = [(ROOT / named_in).parent / page, ROOT / page, ROOT / "docs" / page]
    return any(place.is_file() for place in places) or page in {Path(name).name for name in pages()}


def headings(text: str) -> set[str]:
    """The anchors that a page has."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(name: str, text: str) -> Iterator[str]:
    for path, anchor in LINK.findall(text):
        target = (ROOT / name).parent / path if path else ROOT / name
        if not target.exists():
            yield path
        elif anchor and target.suffix == ".md" and anchor not in headings(target.read_text()):
            yield f"{path}#{anchor}"


def missing_paths(text: str) -> Iterator[str]:
    """Paths in backquotes that begin with a folder of the repository and lead nowhere."""
    folders = {name.partition("/")[0] for name in texts() if "/" in name}
    for path in PATH.findall(text):
        if path.partition("/")[0] in folders and not any(ROOT.glob(path.rstrip("/"))):
            yield path


def test_no_file_cites_a_page_that_is_not_here() -> None:
    unknown = [
        f"{name}: {page}"
        for name, text in texts().items()
        if name != HERE  # whose examples lead nowhere
        for page in PAGE.findall(text)
        if not is_known(page, name)
    ]
    assert unknown == []


def test_no_file_cites_the_earlier_outline() -> None:
    assert [name for name, text in texts().items() if RETIRED.search(text)] == []


def test_links_lead_somewhere() -> None:
    broken = {name: list(broken_links(name, text)) for name, text in pages().items()}
    assert {name: links for name, links in broken.items() if links} == {}


def test_documents_name_paths_that_exist() -> None:
    current = {name: text for name, text in pages().items() if not name.startswith(HISTORY)}
    missing = {name: list(missing_paths(text)) for name, text in current.items()}
    assert {name: paths for name, paths in missing.items() if paths} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](docs/sql.md) [b](https://example.com) [c](docs/webhooks.md#given-up)", []),
        (
            "[a](docs/nowhere.md) [b](docs/webhooks.md#nothing)",
            ["docs/nowhere.md", "docs/webhooks.md#nothing"],
        ),
    ],
)
def test_a_broken_link_is_found(text: str, found: list[str]) -> None:
    assert list(broken_links("README.md", text)) == found


def test_a_missing_path_and_page_are_found() -> None:
    assert list(missing_paths("`docs/decisions/` `sql/*.sql` `sql/nothing` `one/two`")) == ["sql/nothing"]
    assert is_known("settings.md", "Makefile")
    assert not is_known("docs/decisions/settings.md", "Makefile")
