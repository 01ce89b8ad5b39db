"""Collects the pages, runs zensical, and packs the result."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from .archive import pack
from .reference import render_reference

PROJECT_PAGES: Final = {
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/reporting.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "examples/README.md": "start/examples.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
"""Pages outside docs/, with their places in the site."""
_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?://|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
# The search leaves out pages in which users find words, but no answers.
_UNSEARCHED: Final = ("performance/", "decisions/", "reference/cases", "project/")
_UNSEARCHED_HEAD: Final = "---\nsearch:\n  exclude: true\n---\n"
# An address of the site that the program or an alert shows, such as /docs/operate/poison/.
_ADDRESS: Final = re.compile(r"(?<![\w.])/docs/([a-z0-9_/-]+/)(?:#([\w-]+))?")
_ISSUES: Final = re.compile(r"(\d+) issues? found")


class SiteError(Exception):
    """The site has a link that leads nowhere, or a page without a section."""


def build_site(root: Path) -> Path:
    """Builds build/site.zip from the documents of a checkout. Returns its path. Raises SiteError."""
    folder = root / "build/site"
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    shutil.copytree(root / "docs", pages, ignore=shutil.ignore_patterns("*.jsonl"))
    for source, place in PROJECT_PAGES.items():
        (pages / place).parent.mkdir(parents=True, exist_ok=True)
        (pages / place).write_text((root / source).read_text())
    for place, text in render_reference(root).items():
        (pages / place).write_text(text)
    sources = {place: source for source, place in PROJECT_PAGES.items()}
    for page in sorted(pages.rglob("*.md")):
        place = page.relative_to(pages).as_posix()
        text = rewrite_links(page.read_text(), place, sources.get(place, f"docs/{place}"))
        page.write_text(f"{_UNSEARCHED_HEAD}{text}" if place.startswith(_UNSEARCHED) else text)
    navigation = tomllib.loads((root / "zensical.toml").read_text())["project"]["nav"]
    (pages / "llms.txt").write_text(render_llms(pages, navigation))
    _run_zensical(root)
    if missing := list(find_missing_addresses(root, folder / "html")):
        raise SiteError(f"the site does not have {', '.join(missing)}")
    return pack(folder / "html", root / "build/site.zip")


def rewrite_links(text: str, place: str, source: str) -> str:
    """Returns the text of a page with links for its place in the site. Of a link to a file that the site does not have,
    such as source code, only the label remains."""

    def rewrite(link: re.Match[str]) -> str:
        label, path, anchor = link[1], link[2], link[3] or ""
        target = os.path.normpath(f"{PurePosixPath(source).parent}/{path}")
        if target.startswith("docs/"):
            target = target.removeprefix("docs/")
        elif target in PROJECT_PAGES:
            target = PROJECT_PAGES[target]
        else:
            return label if label.startswith("`") else f"`{label}`"
        return f"[{label}]({os.path.relpath(target, PurePosixPath(place).parent)}{anchor})"

    return _LINK.sub(rewrite, text)


def list_pages(navigation: list[Any]) -> Iterator[tuple[str, str]]:
    """Yields each page of a navigation with the titles of its sections, as in `Operate / Scaling`."""
    for entry in navigation:
        for title, content in entry.items():
            if isinstance(content, str):
                yield content, title
            else:
                for page, inner in list_pages(content):
                    yield page, f"{title} / {inner}"


def read_task(text: str) -> str:
    """Returns the first paragraph below the title of a page: its audience and its task."""
    return " ".join(text.removeprefix(_UNSEARCHED_HEAD).partition("\n\n")[2].partition("\n\n")[0].split())


def render_llms(pages: Path, navigation: list[Any]) -> str:
    """Returns llms.txt (llmstxt.org): each page with its address and its first paragraph.

    Raises SiteError for a page that no section has.
    """
    placed = dict(list_pages(navigation))
    missing = {page.relative_to(pages).as_posix() for page in pages.rglob("*.md")} - set(placed)
    if missing:
        raise SiteError(f"zensical.toml has no section for {', '.join(sorted(missing))}")
    lines = ["# Penstock", "", "> SQS, SNS and EventBridge Scheduler on the PostgreSQL that you run.", ""]
    for page, title in placed.items():
        address = page.removesuffix(".md").removesuffix("index")
        lines.append(f"- [{title}](/docs/{address}): {read_task((pages / page).read_text())}")
    return "\n".join(lines) + "\n"


def find_missing_addresses(root: Path, site: Path) -> Iterator[str]:
    """Yields each address that a file of the layers or of infra/container shows, and that the built site lacks."""
    shown = {
        address.groups(default="")
        for folder in ("layers", "infra/container")
        for file in (root / folder).rglob("*")
        if file.suffix in (".py", ".html", ".yaml", ".json")
        for address in _ADDRESS.finditer(file.read_text())
    }
    for place, anchor in sorted(shown):
        page = site / place / "index.html"
        if not page.is_file() or (anchor and f'id="{anchor}"' not in page.read_text()):
            yield f"/docs/{place}{anchor and '#'}{anchor}"


def _run_zensical(root: Path) -> None:
    """Runs zensical, which checks links and anchors. It reports a bad one, but does not fail (zensical 0.0.73)."""
    program = Path(sys.executable).parent / "zensical"
    done = subprocess.run(
        [program, "build", "--clean"],
        cwd=root, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    output = done.stdout + done.stderr
    if done.returncode or _ISSUES.search(output):
        raise SiteError(output)
