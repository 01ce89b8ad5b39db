"""Collects the pages, runs zensical and packs the result."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final

from penstock import __version__

from .archive import pack
from .names import link_names, read_names
from .reference import render_reference

PROJECT_PAGES: Final = {
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/reporting.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "examples/README.md": "start/examples/index.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
"""Maps pages outside docs/ to their paths in the site."""
EXAMPLES: Final = PROJECT_PAGES["examples/README.md"]
# The site shows only the programs of examples/, and the files of the programs' packages.
_SHOWN: Final = (".py", ".txt", ".yaml", ".mjs", ".json", ".go", ".mod", ".java", ".xml", ".rs", ".toml", ".php")
_INSTALLED: Final = {"node_modules", "target", "vendor"}
_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?://|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
# The first paragraph of a page, below its title.
_AUDIENCE: Final = re.compile(
    r"(?<=\n\n)For (everybody|developers|operators|developers and operators): (\S)(.*?)(?=\n\n|\Z)", re.DOTALL
)
_OUTPUT: Final = re.compile(r"^ *<!-- output -->\n( *)```text$", re.MULTILINE)
# The languages of the examples by their folders and suffixes. The page of all examples shows the other files.
_LANGUAGES: Final = {
    "Python": (".py", "pytest_project"), "Node": ("node", "worker_node"), "Go": ("go", "worker_go"),
    "Java": ("java", "worker_java"), "Rust": ("rust",), "PHP": ("php",),
}  # fmt: skip
_INTRODUCTIONS: Final = {
    "Guides": "Each guide does one task, with commands and programs that you can copy.",
    "Operate": "Run Penstock in production: choose a deployment, prepare it, watch it, and mend it.",
    "Reference": "Look up an action, a setting, a command, a function or a limit.",
    "Explain": "Understand how Penstock works, what it promises, and how that was tested.",
    "Project": "Change Penstock itself. Users of Penstock need none of these pages.",
}
# The pages that the search omits, because their results would contain no answers.
_UNSEARCHED: Final = ("performance/", "decisions/", "reference/cases", "project/")
# The pages that may mention former functions and commands.
_UNLINKED: Final = ("performance/", "decisions/", "project/")
VERSION_MARK: Final = "VERSION."
"""A build replaces this text in the footer of zensical.toml."""
_UNSEARCHED_HEAD: Final = "---\nsearch:\n  exclude: true\n---\n"
# An address of the site in the program or an alert, such as /docs/operate/poison/.
_ADDRESS: Final = re.compile(r"(?<![\w.])/docs/([a-z0-9_/-]+/)(?:#([\w-]+))?")
_SEARCH: Final = "assets/javascripts/workers/search.*.js"
_ISSUES: Final = re.compile(r"(\d+) issues? found")


class SiteError(Exception):
    """The site has a link without a target, or a page without a section."""


def build_site(root: Path) -> Path:
    """Builds build/site.zip from the documents of a checkout. Returns the path. Raises SiteError.

    Each build has a separate folder and replaces the archive at its end, so several builds can run at once.
    """
    (root / "build").mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="site-", dir=root / "build") as name:
        folder = Path(name)
        settings = (root / "zensical.toml").read_text()
        parsed = tomllib.loads(settings)
        collect_pages(root, folder / "pages", [*parsed["project"]["nav"], *parsed["developers"]["nav"]])
        (folder / "zensical.toml").write_text(settings.replace(VERSION_MARK, f"{describe_version(root)}."))
        _run_zensical(folder)
        add_words(folder / "html/search.json", parsed["words"])
        replace_search(folder / "html")
        prefix_links(folder / "html/404.html")
        if missing := list(find_missing_addresses(root, folder / "html")):
            raise SiteError(f"the site does not have {', '.join(missing)}")
        return pack(folder / "html", folder / "site.zip").replace(root / "build/site.zip")


def collect_pages(root: Path, pages: Path, navigation: list[Any]) -> None:
    """Writes the sources of all pages to a folder, with links for the site."""
    shutil.copytree(root / "docs", pages, ignore=shutil.ignore_patterns("*.jsonl"))
    for source, place in PROJECT_PAGES.items():
        (pages / place).parent.mkdir(parents=True, exist_ok=True)
        (pages / place).write_text((root / source).read_text())
    with (pages / EXAMPLES).open("a") as examples:
        examples.writelines(render_examples(root / "examples"))
    for language in _LANGUAGES:
        lines = (f"# Examples in {language}\n\n", "[All examples](index.md) says how to run them.\n")
        text = "".join((*lines, *render_examples(root / "examples", language)))
        (pages / place_examples(language)).write_text(text)
    generated = render_reference(root)
    for place, text in generated.items():
        (pages / place).write_text(text)
    sources = {place: source for source, place in PROJECT_PAGES.items()}
    names = read_names(generated)
    for page in sorted(pages.rglob("*.md")):
        place = page.relative_to(pages).as_posix()
        text = rewrite_links(page.read_text(), place, sources.get(place, f"docs/{place}"))
        if place not in generated and not place.startswith(_UNLINKED):
            text = link_names(text, place, names)
        page.write_text(f"{_UNSEARCHED_HEAD}{text}" if place.startswith(_UNSEARCHED) else text)
    for place, text in render_indexes(pages, navigation):
        (pages / place).write_text(f"{_UNSEARCHED_HEAD}{text}")
    (pages / "llms.txt").write_text(render_llms(pages, navigation))
    for page in pages.rglob("*.md"):
        page.write_text(mark_outputs(show_audience(page.read_text())))


def describe_version(root: Path) -> str:
    """Returns the version of the package, and the day of the commit in a git checkout."""
    command = ["git", "log", "-1", "--format=%cs"]
    day = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()
    return f"Penstock {__version__}{f', {day}' if day else ''}"


def rewrite_links(text: str, place: str, source: str) -> str:
    """Returns a page whose links suit its path in the site. A link to a file outside the site becomes the link's
    label."""

    def rewrite(link: re.Match[str]) -> str:
        label, path, anchor = link[1], link[2], link[3] or ""
        target = os.path.normpath(f"{PurePosixPath(source).parent}/{path}")
        if target.startswith("docs/"):
            target = target.removeprefix("docs/")
        elif target in PROJECT_PAGES:
            target = PROJECT_PAGES[target]
        elif target.startswith("examples/"):
            example = PurePosixPath(target)
            target, anchor = place_examples(find_language(example)), f"#{name_example(example)}"
        else:
            return label if label.startswith("`") else f"`{label}`"
        return f"[{label}]({os.path.relpath(target, PurePosixPath(place).parent)}{anchor})"

    return _LINK.sub(rewrite, text)


def name_example(path: PurePosixPath) -> str:
    """Returns the anchor of a file's example, which is the file's program or folder below examples/."""
    return path.parts[1].partition(".")[0]


def find_language(path: PurePosixPath) -> str:
    """Returns the language of an example's file or folder below examples/, and an empty text for other files."""
    names = {path.parts[1], path.suffix if len(path.parts) == 2 else ""}
    return next((language for language, known in _LANGUAGES.items() if names & set(known)), "")


def place_examples(language: str) -> str:
    """Returns the page with the examples in a language."""
    return EXAMPLES.replace("index", language.lower() or "index")


def show_audience(text: str) -> str:
    """Returns a page whose first sentence is its task. A small label names the audience, unless it is everybody."""

    def show(found: re.Match[str]) -> str:
        label = "" if found[1] == "everybody" else f'\n{{ .task data-audience="For {found[1]}" }}'
        return f"{found[2].upper()}{found[3]}{label}"

    return _AUDIENCE.sub(show, text, count=1)


def mark_outputs(text: str) -> str:
    """Returns a page whose blocks of output have the class `output`, by which the style tells them from commands."""
    return _OUTPUT.sub(r"\1``` { .text .output }", text)


def render_examples(folder: Path, language: str = "") -> Iterator[str]:
    """Yields a section for each example in a language, with all of its files, because a reader of the package has no
    checkout. Without a language, yields the files that have none."""
    previous = ""
    for file in sorted(folder.rglob("*")):
        if file.suffix not in _SHOWN or file.name == "package-lock.json" or _INSTALLED.intersection(file.parts):
            continue
        path = PurePosixPath(file.relative_to(folder.parent))
        if find_language(path) != language:
            continue
        if (name := name_example(path)) != previous:
            previous = name
            yield f"\n## {path.parts[1]} {{ #{name} }}\n"
        yield f"\n`{path}`:\n\n````{file.suffix.removeprefix('.')}\n{file.read_text()}````\n"


def list_pages(navigation: list[Any]) -> Iterator[tuple[str, str]]:
    """Yields each page of a navigation with its sections and title, such as `Operate / Scale / Standbys`.

    The page without a title is the index of its section.
    """
    for entry in navigation:
        if isinstance(entry, str):
            yield entry, "All pages"
            continue
        for title, content in entry.items():
            if isinstance(content, str):
                yield content, title
            else:
                for page, inner in list_pages(content):
                    yield page, f"{title} / {inner}"


def render_indexes(pages: Path, navigation: list[Any]) -> Iterator[tuple[str, str]]:
    """Yields the index of each section that has no file for it: its pages in their groups, with their tasks."""
    for section, content in ((title, content) for entry in navigation for title, content in entry.items()):
        index = f"{section.lower()}/index.md"
        if (pages / index).exists() or all(page != index for page, _ in list_pages(content)):
            continue
        lines, former = [f"# {section}", "", _INTRODUCTIONS.get(section, "")], None
        for page, title in list_pages(content):
            if page == index:
                continue
            group, _, name = title.rpartition(" / ")
            if group != former:
                former = group
                lines += ["", *([f"## {group}", ""] if group else []), "| page | task |", "| --- | --- |"]
            task = _LINK.sub(r"\1", read_task((pages / page).read_text()).partition(": ")[2])
            lines.append(f"| [{name}]({os.path.relpath(page, section.lower())}) | {task[:1].upper()}{task[1:]} |")
        yield index, "\n".join(lines) + "\n"


def read_task(text: str) -> str:
    """Returns the first paragraph below a page's title, which has the page's audience and task."""
    return " ".join(text.removeprefix(_UNSEARCHED_HEAD).partition("\n\n")[2].partition("\n\n")[0].split())


def render_llms(pages: Path, navigation: list[Any]) -> str:
    """Returns llms.txt (llmstxt.org), which has each page's address and first paragraph.

    Raises SiteError for a page without a section.
    """
    placed = dict(list_pages(navigation))
    missing = {page.relative_to(pages).as_posix() for page in pages.rglob("*.md")} - set(placed)
    if missing:
        raise SiteError(f"zensical.toml has no section for {', '.join(sorted(missing))}")
    lines = ["# Penstock", "", "> SQS, SNS, schedules and an event bus on the PostgreSQL that you run.", ""]
    for page, title in placed.items():
        address = page.removesuffix(".md").removesuffix("index")
        lines.append(f"- [{title}](/docs/{address}): {read_task((pages / page).read_text())}")
    return "\n".join(lines) + "\n"


def add_words(index: Path, words: Mapping[str, str]) -> None:
    """Adds other words for pages to the index of the search. Raises SiteError if the index lacks a page."""
    content = json.loads(index.read_text())
    pages = {item["location"].rstrip("/"): item for item in content["items"]}
    for page, added in words.items():
        if page not in pages:
            raise SiteError(f"the search has no page {page}, which zensical.toml gives words")
        pages[page]["words"] = added
    index.write_text(json.dumps(content))


def replace_search(html: Path) -> None:
    """Replaces zensical's search, which finds only texts with every word of a query. Raises SiteError if zensical has
    its search in another place."""
    found = list(html.glob(_SEARCH))
    if len(found) != 1:
        raise SiteError(f"zensical's site has {len(found)} files {_SEARCH}, and not one")
    shutil.copyfile(Path(__file__).with_name("search.js"), found[0])


def prefix_links(page: Path) -> None:
    """Lets the links of a page that zensical writes for the root of a server start with /docs. The service shows the
    page for 404 at every depth of the site, so its links cannot be relative."""
    page.write_text(re.sub(r'((?:href|src)=|"base":)"/(?!docs/)', r'\1"/docs/', page.read_text()))


def find_missing_addresses(root: Path, site: Path) -> Iterator[str]:
    """Yields each address in the program, or in a file that it prints, that the built site lacks."""
    shown = {
        address.groups(default="")
        for folder in ("layers", "infra/container", "infra/systemd")
        for file in (root / folder).rglob("*")
        if file.suffix in (".py", ".html", ".yaml", ".json", ".service", ".timer")
        for address in _ADDRESS.finditer(file.read_text())
    }
    for place, anchor in sorted(shown):
        page = site / place / "index.html"
        if not page.is_file() or (anchor and f'id="{anchor}"' not in page.read_text()):
            yield f"/docs/{place}{anchor and '#'}{anchor}"


def _run_zensical(folder: Path) -> None:
    """Runs zensical with the settings of a folder. Raises SiteError for bad links and anchors.

    zensical 0.0.73 reports a bad link, but does not fail.
    """
    program = Path(sys.executable).parent / "zensical"
    done = subprocess.run(
        [program, "build", "--clean"],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    output = done.stdout + done.stderr
    if done.returncode or _ISSUES.search(output):
        raise SiteError(output)
